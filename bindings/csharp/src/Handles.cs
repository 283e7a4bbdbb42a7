// The handles of C, and what every object on one has: an end, and waits that end.
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

        /// <summary>A call is under way that may wait.</summary>
        internal volatile bool IsWaiting;

        /// <summary>That call has ended together with the program: its thread does nothing more.</summary>
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
                // Another thread has disposed of it meanwhile, which ends the wait too.
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
    /// The library must not lose a source during a wait. So the set holds a reference of the handle of each source,
    /// which keeps what was disposed of until the source has left the set.
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
                if (held.Contains(source)) return; // it is in the set, and the library refuses it
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

    /// <summary>An object of the library. One thread at a time uses it, but for Interrupt and Dispose.</summary>
    public abstract class LapwingObject : IDisposable
    {
        readonly NativeHandle handle;
        int hasStaleInterrupt; // a cancellation's, of a call that had ended by itself

        /// <summary>In which set it is; null: in none.</summary>
        internal volatile Source Membership;

        internal LapwingObject(NativeHandle handle)
        {
            this.handle = handle;
            ProgramEnd.Add(handle);
        }

        /// <summary>Gives everything back, and waits for nothing.</summary>
        ~LapwingObject()
        {
            if (handle == null) return; // what it was to be made of has failed
            handle.Dispose();
            ProgramEnd.Remove(handle);
            Warn(GetType().Name);
        }

        /// <summary>Warns of a handle that was not disposed of. Not on the finalizer's thread, which a listener could hold up.</summary>
        internal static void Warn(string name) => ThreadPool.QueueUserWorkItem(state =>
        {
            try
            {
                Trace.TraceWarning($"a Lapwing {name} was garbage-collected; call its Dispose()");
            }
            catch (Exception)
            {
                // A listener failed, or the program ends meanwhile, which aborts this thread.
            }
        });

        internal NativeHandle AnyHandle => handle;

        /// <summary>Ends the wait under way, or else the next one, with interrupted, once.</summary>
        public virtual void Interrupt() => handle.Interrupt();

        /// <summary>
        /// Gives everything back, without waiting: as soon as a call that is under way in another thread has
        /// returned, which is interrupted. It leaves its wait set.
        /// </summary>
        public virtual void Dispose()
        {
            Interrupt();
            handle.Dispose();
            Thread.MemoryBarrier(); // WaitSet.Add does the two in the other order
            Membership?.Leave();
            ProgramEnd.Remove(handle);
            GC.SuppressFinalize(this);
        }

        /// <summary>Nanoseconds of a call's timeout. The call may wait from now on, until IsStale of its result.</summary>
        internal long BeginWait(TimeSpan? timeout) => BeginWait(Time.Ns(timeout));

        internal long BeginWait(long timeoutNs)
        {
            handle.IsWaiting = true;
            return timeoutNs;
        }

        /// <summary>Whether the call is to be made again: what interrupted it was meant for an earlier one.</summary>
        internal bool IsStale(int result)
        {
            handle.IsWaiting = false;
            if (result != (int)ErrorCode.Interrupted) return false;
            if (handle.IsEnded) Thread.Sleep(Timeout.Infinite);
            return Interlocked.Exchange(ref hasStaleInterrupt, 0) == 1;
        }

        /// <summary>A wait on a thread of the pool, which a cancellation interrupts.</summary>
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
