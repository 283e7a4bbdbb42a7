// Checks whether a descriptor is readable.
using System;
using System.Runtime.InteropServices;

static class Poll
{
    const short PollIn = 1;

    [StructLayout(LayoutKind.Sequential)]
    struct PollFd
    {
        internal int Fd;
        internal short Events;
        internal short Found;
    }

    [DllImport("libc")]
    static extern int poll(ref PollFd fds, UIntPtr count, int timeoutMs);

    /// <summary>Waits until the descriptor is readable, at most for the timeout.</summary>
    internal static bool IsReadable(int descriptor, TimeSpan timeout)
    {
        var polled = new PollFd { Fd = descriptor, Events = PollIn };
        return poll(ref polled, (UIntPtr)1, (int)timeout.TotalMilliseconds) > 0;
    }
}
