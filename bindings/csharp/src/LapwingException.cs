using System;

namespace Lapwing
{
    /// <summary>A failed call to the library.</summary>
    public sealed class LapwingException : Exception
    {
        internal LapwingException(ErrorCode code, string message, int errno = 0)
            : base(message)
        {
            Code = code;
            Errno = errno;
        }

        /// <summary>The error's number in lapwing.h.</summary>
        public ErrorCode Code { get; }

        /// <summary>The error's name in lapwing.h, for example "timed-out".</summary>
        public string Name => Library.NameOf(Code);

        /// <summary>Error number of the failed system call, or 0 if none failed.</summary>
        public int Errno { get; }

        /// <summary>After Publish: the last published sequence, or 0 if none was published.</summary>
        public ulong LastPublished { get; internal set; }

        /// <summary>After Send: the number of messages sent.</summary>
        public int Sent { get; internal set; }

        /// <summary>After Finish and FinishAny: the number of the call that ended without a reply.</summary>
        public ulong Call { get; internal set; }

        /// <summary>After too-small: the size of a row in bytes.</summary>
        public int RowBytes { get; internal set; }

        internal static unsafe LapwingException Of(int result, lapwing_error* error)
        {
            var message = Text.Of(error->message, 496);
            if (message.Length == 0) message = Library.NameOf((ErrorCode)result);
            return new LapwingException((ErrorCode)result, message, error->sys_errno);
        }

        internal static unsafe LapwingException OfRead(int result, lapwing_batch* batch, lapwing_error* error)
        {
            var failure = Of(result, error);
            if (failure.Code == ErrorCode.TooSmall) failure.RowBytes = (int)batch->row_bytes;
            return failure;
        }

        /// <summary>Returns whether a call found nothing, at once or within its timeout.</summary>
        internal static bool IsNothing(int result) =>
            result == (int)ErrorCode.WouldBlock || result == (int)ErrorCode.TimedOut;

        internal static unsafe void Check(int result, lapwing_error* error)
        {
            if (result != 0) throw Of(result, error);
        }
    }
}
