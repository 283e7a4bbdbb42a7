// The handles of C, and the base of all objects that own one. It ends waits and frees the handle.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    abstract class NativeHandle : SafeHandle
    {
        internal NativeHandle(IntPtr pointer)
            : base(IntPtr.Zero, true)
        {
            SetHandle(pointer);
        }

        public override bool IsInvalid => handle == IntPtr.Zero;

        /// <summary>A call that may wait is running.</summary>
        internal volatile bool IsWaiting;

        /// <summary>That call ended because the program is ending. Its thread must not continue.</summary>
        internal volatile bool IsEnded;

        internal virtual void Raise() { }

        internal void Interrupt()
        {
            if (IsClosed) return;
            try
            {
                Raise();
            }
            catch (ObjectDisposedException)
            {
                // Another thread has disposed the handle, which also ends the wait.
            }
        }

        internal void EndWait()
        {
            if (!IsWaiting) return;
            IsEnded = true;
            Interrupt();
        }
    }

    sealed class PublisherHandle : NativeHandle
    {
        internal PublisherHandle(IntPtr pointer) : base(pointer) { }

        internal override void Raise() => Native.lapwing_publisher_interrupt(this);

        protected override bool ReleaseHandle()
        {
            Native.lapwing_publisher_destroy(ref handle);
            return true;
        }
    }

    sealed class SubscriberHandle : NativeHandle
    {
        internal SubscriberHandle(IntPtr pointer) : base(pointer) { }

        internal override void Raise() => Native.lapwing_subscriber_interrupt(this);

        protected override bool ReleaseHandle()
        {
            Native.lapwing_subscriber_destroy(ref handle);
            return true;
        }
    }

    sealed class CursorHandle : NativeHandle
    {
        internal CursorHandle(IntPtr pointer) : base(pointer) { }

        protected override bool ReleaseHandle()
        {
            Native.lapwing_cursor_destroy(ref handle);
            return true;
        }
    }

    sealed class HistoryHandle : NativeHandle
    {
        internal HistoryHandle(IntPtr pointer) : base(pointer) { }

        protected override bool ReleaseHandle()
        {
            Native.lapwing_history_destroy(ref handle);
            return true;
        }
    }

    sealed class BooksHandle : NativeHandle
    {
        internal BooksHandle(IntPtr pointer) : base(pointer) { }

        protected override bool ReleaseHandle()
        {
            Native.lapwing_books_destroy(ref handle);
            return true;
        }
    }

    sealed class ListenerHandle : NativeHandle
    {
        internal ListenerHandle(IntPtr pointer) : base(pointer) { }

        internal override void Raise() => Native.lapwing_listener_interrupt(this);

        protected override bool ReleaseHandle()
        {
            Native.lapwing_listener_destroy(ref handle);
            return true;
        }
    }

    sealed class ChannelHandle : NativeHandle
    {
        internal ChannelHandle(IntPtr pointer) : base(pointer) { }

        internal override void Raise() => Native.lapwing_channel_interrupt(this);

        protected override bool ReleaseHandle()
        {
            Native.lapwing_channel_destroy(ref handle);
            return true;
        }
    }

    sealed class SymbolsHandle : NativeHandle
    {
        internal SymbolsHandle(IntPtr pointer) : base(pointer) { }

        protected override bool ReleaseHandle()
        {
            Native.lapwing_symbols_destroy(ref handle);
            return true;
        }
    }

    /// <summary>
    /// A source must not be destroyed during a wait. So the set holds a reference to each source's handle, which keeps
    /// a disposed handle alive until the source has left the set.
    /// </summary>
    sealed class WaitSetHandle : NativeHandle
    {
        readonly HashSet<NativeHandle> held = new HashSet<NativeHandle>(); // guarded by itself

        internal WaitSetHandle(IntPtr pointer) : base(pointer) { }

        internal override void Raise() => Native.lapwing_wait_set_interrupt(this);

        internal void Hold(NativeHandle source)
        {
            lock (held)
            {
                if (held.Contains(source)) return; // already in the set: the library will refuse it
                var isHeld = false;
                source.DangerousAddRef(ref isHeld);
                held.Add(source);
            }
        }

        internal void LetGo(NativeHandle source)
        {
            lock (held)
            {
                if (!held.Remove(source)) return;
            }
            source.DangerousRelease();
        }

        protected override bool ReleaseHandle()
        {
            Native.lapwing_wait_set_destroy(ref handle);
            lock (held)
            {
                foreach (var source in held) source.DangerousRelease();
                held.Clear();
            }
            return true;
        }
    }

    /// <summary>
    /// A library object. Only one thread may use it at a time, except for Interrupt and Dispose.
    /// </summary>
    public abstract class LapwingObject : IDisposable
    {
        readonly NativeHandle handle;
        int hasStaleInterrupt; // a cancellation interrupted a call that had already ended

        /// <summary>The wait set that contains the object, or null.</summary>
        internal volatile Source Membership;

        internal LapwingObject(NativeHandle handle)
        {
            this.handle = handle;
            ProgramEnd.Add(handle);
        }

        /// <summary>Frees everything without waiting.</summary>
        ~LapwingObject()
        {
            if (handle == null) return; // the constructor failed
            handle.Dispose();
            ProgramEnd.Remove(handle);
            Warn(GetType().Name);
        }

        /// <summary>
        /// Warns of a handle that was not disposed. It does so on a pool thread, since a trace listener could block the
        /// finalizer thread.
        /// </summary>
        internal static void Warn(string name) => ThreadPool.QueueUserWorkItem(state =>
        {
            try
            {
                Trace.TraceWarning($"a Lapwing {name} was garbage-collected; call its Dispose()");
            }
            catch (Exception)
            {
                // A listener failed, or the program is ending, which aborts this thread.
            }
        });

        internal NativeHandle AnyHandle => handle;

        /// <summary>Ends the current wait with interrupted, or the next wait if there is none.</summary>
        public virtual void Interrupt() => handle.Interrupt();

        /// <summary>
        /// Frees everything without waiting. A call that is running on another thread is interrupted, and the object is
        /// freed when it returns. The object leaves its wait set.
        /// </summary>
        public virtual void Dispose()
        {
            Interrupt();
            handle.Dispose();
            Thread.MemoryBarrier(); // WaitSet.Add sets Membership, then reads IsClosed
            Membership?.Leave();
            ProgramEnd.Remove(handle);
            GC.SuppressFinalize(this);
        }

        /// <summary>Begins a call that may wait, and returns its timeout in ns. Call IsStale with its result.</summary>
        internal long BeginWait(TimeSpan? timeout) => BeginWait(Time.Ns(timeout));

        internal long BeginWait(long timeoutNs)
        {
            handle.IsWaiting = true;
            return timeoutNs;
        }

        /// <summary>
        /// Ends a wait. Returns whether to repeat the call because its interrupt was for an earlier call.
        /// </summary>
        internal bool IsStale(int result)
        {
            handle.IsWaiting = false;
            if (result != (int)ErrorCode.Interrupted) return false;
            if (handle.IsEnded) Thread.Sleep(Timeout.Infinite);
            return Interlocked.Exchange(ref hasStaleInterrupt, 0) == 1;
        }

        /// <summary>Runs a wait on a pool thread. A cancellation interrupts it.</summary>
        internal Task<T> Run<T>(Func<T> wait, CancellationToken token) =>
            Task.Run(() => WithToken(wait, token), token);

        internal T WithToken<T>(Func<T> wait, CancellationToken token)
        {
            token.ThrowIfCancellationRequested();
            var wasRaised = false;
            var wasInterrupted = false;
            try
            {
                using (token.Register(() =>
                {
                    wasRaised = true;
                    Interrupt();
                }))
                {
                    return wait();
                }
            }
            catch (LapwingException error) when (error.Code == ErrorCode.Interrupted && token.IsCancellationRequested)
            {
                wasInterrupted = true;
                throw new OperationCanceledException(token);
            }
            finally
            {
                if (wasRaised && !wasInterrupted) Interlocked.Exchange(ref hasStaleInterrupt, 1);
            }
        }
    }
}
