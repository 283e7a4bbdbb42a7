// The handles of C, and what every object on one has: an end, and waits that end.
using System;
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
    }

    sealed class PublisherHandle : NativeHandle
    {
        internal PublisherHandle(IntPtr pointer) : base(pointer) { }

        protected override bool ReleaseHandle()
        {
            Native.lapwing_publisher_destroy(ref handle);
            return true;
        }
    }

    sealed class SubscriberHandle : NativeHandle
    {
        internal SubscriberHandle(IntPtr pointer) : base(pointer) { }

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

        protected override bool ReleaseHandle()
        {
            Native.lapwing_listener_destroy(ref handle);
            return true;
        }
    }

    sealed class ChannelHandle : NativeHandle
    {
        internal ChannelHandle(IntPtr pointer) : base(pointer) { }

        protected override bool ReleaseHandle()
        {
            Native.lapwing_channel_destroy(ref handle);
            return true;
        }
    }

    /// <summary>An object of the library. One thread at a time uses it, but for Interrupt and Dispose.</summary>
    public abstract class LapwingObject : IDisposable
    {
        readonly SafeHandle handle;
        int hasStaleInterrupt; // a cancellation's, of a call that had ended by itself

        internal LapwingObject(SafeHandle handle)
        {
            this.handle = handle;
        }

        /// <summary>The handle frees itself, also here, and waits for nothing.</summary>
        ~LapwingObject()
        {
            Trace.TraceWarning($"a Lapwing {GetType().Name} was garbage-collected; call its Dispose()");
        }

        internal virtual void Raise() { }

        /// <summary>Ends the wait under way, or else the next one, with interrupted, once.</summary>
        public void Interrupt()
        {
            if (!handle.IsClosed) Raise();
        }

        /// <summary>
        /// Gives everything back, without waiting: as soon as a call that is under way in another thread has
        /// returned, which is interrupted.
        /// </summary>
        public virtual void Dispose()
        {
            if (handle.IsClosed) return;
            Raise();
            handle.Dispose();
            GC.SuppressFinalize(this);
        }

        /// <summary>Whether the call is to be made again: what interrupted it was meant for an earlier one.</summary>
        internal bool IsStale(int result) =>
            result == (int)ErrorCode.Interrupted && Interlocked.Exchange(ref hasStaleInterrupt, 0) == 1;

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
