package lapwing.peers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.CompletableFuture;

/** Peers from Java packages: NAME SCENARIO OPTION…, or NAME histogram. */
final class Main {
    private Main() {
    }

    private static Peer open(final String name, final Options options) {
        return switch (name) {
            case "aeron", "aeron-untethered" -> new AeronPeer(options, name.equals("aeron"));
            case "agrona-broadcast" -> new AgronaBroadcastPeer(options);
            case "agrona-one-to-one" -> new AgronaOneToOnePeer(options);
            case "chronicle-queue" -> new ChroniclePeer(options);
            default -> throw Options.fail(name + " is not a peer of this program");
        };
    }

    private static String side(final Peer peer, final Options options) {
        options.pinOwnThread();
        return new Scenarios(options, peer).run();
    }

    /** Runs both sides as threads of this process. */
    private static String both(final Options options) {
        options.role = options.bothWays() ? "initiator" : "publisher";
        final DisruptorPeer.Rings rings = new DisruptorPeer.Rings(options);
        final Options other = options.other();
        final CompletableFuture<String> answer = new CompletableFuture<>();
        final Thread thread = new Thread(() -> {
            try {
                answer.complete(side(new DisruptorPeer(other, rings), other));
            } catch (final Throwable error) {
                answer.completeExceptionally(error);
            }
        });
        thread.setDaemon(true);
        thread.start();
        final String own = side(new DisruptorPeer(options, rings), options);
        if (options.scenario.equals("stopped-reader")) {
            throw Options.fail("a thread cannot be stopped alone");
        }
        final String others = answer.join();
        return others.isEmpty() ? own : own + ", " + others;
    }

    private static void printHistogramOfInput() throws IOException {
        final Measure.Histogram ns = new Measure.Histogram();
        try (var input = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                ns.add(Long.parseLong(line.trim()));
            }
        }
        System.out.println(ns.toJson());
    }

    public static void main(final String[] arguments) throws IOException {
        if (arguments.length < 2) {
            Options.usage("no scenario");
        }
        final String name = arguments[0];
        if (arguments[1].equals("histogram")) {
            printHistogramOfInput();
            return;
        }
        final Options options = Options.parse(arguments, 1);
        try {
            if (options.role.equals("driver")) {
                AeronPeer.drive(options, name.equals("aeron"));
                return;
            }
            final String fields = options.role.equals("both")
                ? both(options) : side(open(name, options), options);
            if (!fields.isEmpty()) {
                System.out.println("{" + fields + "}");
            }
        } catch (final Throwable error) {
            error.printStackTrace();
            throw Options.fail(error.toString());
        }
        // A package may leave threads running.
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
