// Finds and loads the shared library, and checks its version.
using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Lapwing
{
    /// <summary>The C library behind this assembly.</summary>
    /// <remarks>
    /// It is loaded from the path in LAPWING_LIBRARY, or else from native/liblapwing.so.1 in the folder of the
    /// assembly, or else from the system. It is loaded here by its path, so that DllImport finds it by its name.
    /// </remarks>
    public static unsafe class Library
    {
        const int RtldNow = 2;
        const int RtldGlobal = 0x100;

        static readonly LapwingException failure;

        static Library()
        {
            try
            {
                Load();
                ReadVersion();
                if (Abi.Major == Native.AbiMajor && Abi.Minor >= Native.AbiMinor) return;
                failure = new LapwingException(ErrorCode.AbiMismatch,
                    $"{Path} is Lapwing {Release} with the C interface {Abi}; this assembly needs " +
                    $"{Native.AbiMajor}.{Native.AbiMinor} or a later {Native.AbiMajor}.x. " +
                    "Install a library and an assembly of the same release.");
            }
            catch (DllNotFoundException error)
            {
                failure = new LapwingException(ErrorCode.NotFound,
                    $"{Path} cannot be loaded: {error.Message}. Install Lapwing, or set LAPWING_LIBRARY " +
                    "to the path of liblapwing.so.1.");
            }
        }

        /// <summary>The path or name that was loaded.</summary>
        public static string Path { get; private set; }

        /// <summary>The release of the library, "0.2.0".</summary>
        public static string Release { get; private set; }

        /// <summary>The version of the library's C interface.</summary>
        public static Version Abi { get; private set; }

        /// <summary>Returns the name of an error, for example "timed-out", or "unknown".</summary>
        public static string NameOf(ErrorCode code) => Text.Of(Native.lapwing_error_name((int)code));

        /// <summary>Throws if the library is missing or has an incompatible version.</summary>
        public static void Require()
        {
            if (failure != null) throw failure;
        }

        /// <summary>Returns the result of `make` after the library has been loaded.</summary>
        /// <remarks>
        /// Mono looks for a function's library when it compiles the method that calls the function. So `make` must be a
        /// separate method, which is compiled after the library has been loaded.
        /// </remarks>
        internal static T With<T>(Func<T> make)
        {
            Require();
            return make();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void ReadVersion()
        {
            uint abi;
            Release = Text.Of(Native.lapwing_version(&abi));
            Abi = new Version((int)(abi >> 16), (int)(abi & 0xffff));
        }

        static void Load()
        {
            var own = System.IO.Path.Combine(
                System.IO.Path.GetDirectoryName(typeof(Library).Assembly.Location), "native", Native.Library);
            var named = Environment.GetEnvironmentVariable("LAPWING_LIBRARY");
            Path = !string.IsNullOrEmpty(named) ? named : File.Exists(own) ? own : Native.Library;
            if (dlopen(Text.Zero(Path), RtldNow | RtldGlobal) == IntPtr.Zero)
            {
                throw new DllNotFoundException(Text.Of(dlerror()));
            }
        }

        [DllImport("libdl.so.2")]
        static extern IntPtr dlopen(byte[] path, int flags);

        [DllImport("libdl.so.2")]
        static extern IntPtr dlerror();
    }
}
