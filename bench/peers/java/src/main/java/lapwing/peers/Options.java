package lapwing.peers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The arguments of a side, and the files that synchronize the two sides. bench/peers/README.md
 * describes the interface.
 */
final class Options {
    private static final long MEETING_NS_MAX = 60_000_000_000L;

    String scenario;
    String role = "publisher";
    int core;
    int otherCore;
    int bytes = 56;
    long records;
    long warmUp;
    double seconds = 1;
    double rate = 100_000;
    long capacity = 1L << 20;
    Path shared;

    static Options parse(final String[] arguments, final int from) {
        final Options options = new Options();
        options.scenario = arguments[from];
        for (int i = from + 1; i + 1 < arguments.length; i += 2) {
            options.set(arguments[i], arguments[i + 1]);
        }
        if (options.shared == null || (arguments.length - from) % 2 == 0) {
            usage("no --shared, or an option without a value");
        }
        if (options.bytes < 16 || options.bytes % 8 != 0) {
            usage("--bytes is not a multiple of 8 from 16");
        }
        return options;
    }

    private void set(final String name, final String value) {
        switch (name) {
            case "--role" -> role = value;
            case "--core" -> core = Integer.parseInt(value);
            case "--other-core" -> otherCore = Integer.parseInt(value);
            case "--bytes" -> bytes = Integer.parseInt(value);
            case "--records" -> records = Long.parseLong(value);
            case "--warm-up" -> warmUp = Long.parseLong(value);
            case "--seconds" -> seconds = Double.parseDouble(value);
            case "--rate" -> rate = Double.parseDouble(value);
            case "--capacity" -> capacity = Long.parseLong(value);
            case "--shared" -> shared = Path.of(value);
            default -> usage("unknown option " + name);
        }
    }

    /** The options of the other side, for a peer between threads. */
    Options other() {
        final Options other = new Options();
        other.scenario = scenario;
        other.role = switch (role) {
            case "initiator" -> "echo";
            case "publisher" -> "subscriber";
            default -> throw new IllegalArgumentException(role);
        };
        other.core = otherCore;
        other.bytes = bytes;
        other.records = records;
        other.capacity = capacity;
        other.shared = shared;
        return other;
    }

    int words() {
        return bytes / 8;
    }

    boolean bothWays() {
        return scenario.equals("round-trip");
    }

    boolean hasWitness() {
        return scenario.equals("stopped-of-two");
    }

    /** The roles that read the publisher's records. */
    List<String> readers() {
        return hasWitness() ? List.of("subscriber", "witness") : List.of("subscriber");
    }

    boolean sendsFirst() {
        return role.equals("initiator") || role.equals("publisher");
    }

    boolean sends() {
        return sendsFirst() || bothWays();
    }

    boolean receives() {
        return !sendsFirst() || bothWays();
    }

    /** The direction in which this side sends. */
    String outName() {
        return sendsFirst() ? "ping" : "pong";
    }

    String inName() {
        return sendsFirst() ? "pong" : "ping";
    }

    void announce(final String file) {
        try {
            Files.write(shared.resolve(file), new byte[0]);
        } catch (final IOException error) {
            fail("cannot make " + file + ": " + error);
        }
    }

    boolean isAnnounced(final String file) {
        return Files.exists(shared.resolve(file));
    }

    /** Polls a thousand times per second. Fails after a minute. */
    void awaitFile(final String file) {
        final long deadlineNs = System.nanoTime() + MEETING_NS_MAX;
        while (!isAnnounced(file)) {
            if (System.nanoTime() - deadlineNs > 0) {
                fail("the other side did not make " + file);
            }
            sleepMs(1);
        }
    }

    /** Pins only the calling thread. The kernel places the JVM's other threads. */
    void pinOwnThread() {
        try {
            final Path self = Files.readSymbolicLink(Path.of("/proc/thread-self"));
            final String thread = self.getFileName().toString();
            final Process taskset = new ProcessBuilder("taskset", "-p", "-c",
                Integer.toString(core), thread).redirectErrorStream(true).start();
            taskset.getInputStream().readAllBytes();
            if (taskset.waitFor() != 0) {
                fail("cannot pin to core " + core);
            }
        } catch (final IOException | InterruptedException error) {
            fail("cannot pin to core " + core + ": " + error);
        }
    }

    static void sleepMs(final long ms) {
        try {
            Thread.sleep(ms);
        } catch (final InterruptedException error) {
            fail("interrupted");
        }
    }

    static void usage(final String message) {
        System.err.println("peer: " + message + "; see bench/peers/README.md");
        Runtime.getRuntime().halt(2);
    }

    static RuntimeException fail(final String message) {
        System.err.println("peer: " + message);
        Runtime.getRuntime().halt(1);
        return new IllegalStateException(message);
    }
}
