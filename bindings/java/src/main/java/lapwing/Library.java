package lapwing;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * liblapwing.so.1: the file that the variable LAPWING_LIBRARY names, or else the file in this
 * package, or else the system's. It is loaded, and its ABI is checked, when this package is first
 * used.
 */
final class Library {
  private static final String FILE = "liblapwing.so.1";
  private static final String VARIABLE = "LAPWING_LIBRARY";

  private static final Linker LINKER = Linker.nativeLinker();
  private static final SymbolLookup SYMBOLS = load(System.getenv(VARIABLE));

  /** The ABI: major &lt;&lt; 16 | minor. */
  static final int ABI;

  static final String VERSION;

  static {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment abi = arena.allocate(ValueLayout.JAVA_INT);
      VERSION = Text.of(C.version(abi));
      ABI = abi.get(ValueLayout.JAVA_INT, 0);
    }
    String refusal = refusal(ABI);
    if (refusal != null) {
      throw new UnsatisfiedLinkError(refusal);
    }
  }

  private Library() {}

  /** Returns the reason why a library with this ABI cannot be used; null if it can. */
  static String refusal(int abi) {
    int major = abi >>> 16;
    int minor = abi & 0xffff;
    if (major == C.ABI_MAJOR && minor >= C.ABI_MINOR) {
      return null;
    }
    return "Lapwing's library has the ABI " + major + "." + minor + "; this package needs "
        + C.ABI_MAJOR + "." + C.ABI_MINOR + " or a later " + C.ABI_MAJOR
        + ".x. Install the library that belongs to this package, or set " + VARIABLE
        + " to its path.";
  }

  static SymbolLookup load(String path) {
    if (path != null && !path.isEmpty()) {
      try {
        return SymbolLookup.libraryLookup(Path.of(path), Arena.global());
      } catch (IllegalArgumentException e) {
        throw missing(VARIABLE + " names " + path + ", which cannot be loaded", e);
      }
    }
    String resource = "/lapwing/linux-" + System.getProperty("os.arch") + "/" + FILE;
    try (InputStream own = Library.class.getResourceAsStream(resource)) {
      if (own != null) {
        return unpacked(own);
      }
    } catch (IOException | IllegalArgumentException e) {
      throw missing("this package's own " + FILE + " cannot be loaded", e);
    }
    try {
      return SymbolLookup.libraryLookup(FILE, Arena.global());
    } catch (IllegalArgumentException e) {
      throw missing(VARIABLE + " is not set, this package has no library of its own for "
          + System.getProperty("os.arch") + ", and the system has no " + FILE, e);
    }
  }

  /** Unpacks and loads the library. The file is deleted at once, but its mapping stays. */
  private static SymbolLookup unpacked(InputStream library) throws IOException {
    Path file = Files.createTempFile("liblapwing", ".so");
    try {
      Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
      return SymbolLookup.libraryLookup(file, Arena.global());
    } finally {
      Files.delete(file);
    }
  }

  private static UnsatisfiedLinkError missing(String what, Exception cause) {
    var error = new UnsatisfiedLinkError(what + ": " + cause.getMessage() + ". Install Lapwing, or set "
        + VARIABLE + " to the path of its library.");
    error.initCause(cause);
    return error;
  }

  static MethodHandle call(String name, FunctionDescriptor type) {
    return LINKER.downcallHandle(symbol(name), type);
  }

  static MethodHandle critical(String name, FunctionDescriptor type) {
    return LINKER.downcallHandle(symbol(name), type, Linker.Option.critical(false));
  }

  /** Returns a C function that calls `target`, valid until the process ends. */
  static MemorySegment callback(MethodHandle target, FunctionDescriptor type) {
    return LINKER.upcallStub(target, type, Arena.global());
  }

  private static MemorySegment symbol(String name) {
    return SYMBOLS.find(name).orElseThrow(() -> new UnsatisfiedLinkError(
        "Lapwing's library has no " + name + ". Install the library that belongs to this package."));
  }

  /** Converts an exception that is not an error of Lapwing, for example for freed memory. */
  static RuntimeException unexpected(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    if (thrown instanceof RuntimeException exception) {
      return exception;
    }
    return new IllegalStateException(thrown);
  }
}
