package lapwing.coroutines

import java.nio.file.Path
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import lapwing.ChannelOptions
import lapwing.Consumer
import lapwing.Duplex
import lapwing.Listener
import lapwing.Producer
import lapwing.Publisher
import lapwing.PublisherOptions
import lapwing.Subscriber
import lapwing.SubscriberOptions

/**
 * Opens a subscriber to the bus in [directory]. Does not wait. The read calls wait for the bus.
 *
 * ```
 * openSubscriber(Path.of("./es")) { start(Start.oldest()); endAtClose(true) }
 * ```
 */
public inline fun openSubscriber(
    directory: Path,
    options: SubscriberOptions.Builder.() -> Unit = {},
): Subscriber = Subscriber.open(directory, SubscriberOptions.builder().apply(options).build())

/**
 * Takes the bus in [directory] and begins a session. Waits at most [timeout] for another publisher
 * to end, and blocks the calling thread meanwhile.
 *
 * ```
 * openPublisher(Path.of("./quotes")) { recordBytes(16); capacity(1 shl 20) }
 * ```
 */
public inline fun openPublisher(
    directory: Path,
    timeout: Duration = OPEN_TIMEOUT,
    options: PublisherOptions.Builder.() -> Unit = {},
): Publisher = Publisher.open(directory, PublisherOptions.builder().apply(options).build(), timeout.toJavaDuration())

/** How long [openPublisher] waits for another publisher to end by default, as in C++. */
public val OPEN_TIMEOUT: Duration = 10.seconds

/** Connects to the listener at [path]. This side sends. */
public suspend fun connectProducer(
    path: Path,
    timeout: Duration,
    options: ChannelOptions.Builder.() -> Unit = {},
): Producer = waiting { Producer.connect(path, built(options), timeout.toJavaDuration()) }

/** Connects to the listener at [path]. This side receives. */
public suspend fun connectConsumer(
    path: Path,
    timeout: Duration,
    options: ChannelOptions.Builder.() -> Unit = {},
): Consumer = waiting { Consumer.connect(path, built(options), timeout.toJavaDuration()) }

/** Connects to the listener at [path], with calls in both directions. */
public suspend fun connectDuplex(
    path: Path,
    timeout: Duration,
    options: ChannelOptions.Builder.() -> Unit = {},
): Duplex = waiting { Duplex.connect(path, built(options), timeout.toJavaDuration()) }

/** Listens at [path]. */
public inline fun openListener(path: Path, options: ChannelOptions.Builder.() -> Unit = {}): Listener =
    Listener.open(path, ChannelOptions.builder().apply(options).build())

internal fun built(options: ChannelOptions.Builder.() -> Unit): ChannelOptions =
    ChannelOptions.builder().apply(options).build()
