package lapwing.peers;

import java.io.File;
import org.agrona.IoUtil;
import org.agrona.concurrent.UnsafeBuffer;

/** A file in the shared directory as an Agrona buffer, created by the writing side. */
final class MappedBuffer {
    private MappedBuffer() {
    }

    static UnsafeBuffer make(final Options options, final String name, final long bytes) {
        final File file = options.shared.resolve(name).toFile();
        final UnsafeBuffer buffer = new UnsafeBuffer(IoUtil.mapNewFile(file, bytes));
        options.announce(name + ".made");
        return buffer;
    }

    static UnsafeBuffer open(final Options options, final String name) {
        options.awaitFile(name + ".made");
        final File file = options.shared.resolve(name).toFile();
        return new UnsafeBuffer(IoUtil.mapExistingFile(file, name));
    }
}
