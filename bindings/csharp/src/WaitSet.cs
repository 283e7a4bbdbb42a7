// Waits for several sources on one thread.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>The events of a descriptor, as in poll(2).</summary>
    [Flags]
    public enum PollEvents : uint
    {
        None = 0,
        In = 1,
        Priority = 2,
        Out = 4,

        /// <summary>Only reported, cannot be requested.</summary>
        Error = 8,

        /// <summary>Only reported, cannot be requested.</summary>
        HangUp = 16,

        ReadHangUp = 0x2000,
    }

    /// <summary>A source in a wait set, for Remove and SetTimer.</summary>
    public sealed class Source
    {
        internal Source(WaitSet set, LapwingObject owner, ulong number, object token)
        {
            Set = set;
            Owner = owner;
            Number = number;
            Token = token;
        }

        internal WaitSet Set { get; }

        /// <summary>null for a descriptor or a timer.</summary>
        internal LapwingObject Owner { get; }

        /// <summary>The library's number for the source.</summary>
        internal ulong Number { get; }

        /// <summary>The token passed to Add. By default the subscriber, channel or listener itself.</summary>
        public object Token { get; }

        internal void Leave() => Set.Leave(this);
    }

    /// <summary>A source that is ready.</summary>
    public struct Ready
    {
        internal Ready(Source source, lapwing_ready raw)
        {
            Source = source;
            Kind = (SourceKind)raw.kind;
            Expirations = raw.expirations;
            Events = (PollEvents)raw.events;
        }

        /// <summary>The source, as returned by Add.</summary>
        public Source Source { get; }

        public SourceKind Kind { get; }

        /// <summary>The token of the source.</summary>
        public object Token => Source?.Token;

        /// <summary>How often a timer has expired since it was last ready.</summary>
        public ulong Expirations { get; }

        /// <summary>Events of a descriptor.</summary>
        public PollEvents Events { get; }
    }

    /// <summary>
    /// Waits for several buses, channels, listeners, descriptors and timers on one thread. A wait does not read from
    /// the source that is ready: call the source itself, for example TryRead. A source with items left is ready again,
    /// and so is one that has ended. Sources take turns. The set does not own its sources. A disposed source leaves the
    /// set, even during a wait.
    /// </summary>
    public sealed unsafe class WaitSet : LapwingObject
    {
        readonly WaitSetHandle handle;
        readonly object gate = new object();
        readonly Dictionary<ulong, Source> sources = new Dictionary<ulong, Source>(); // by Number; guarded by gate
        readonly List<Source> leaving = new List<Source>(); // once no call waits; guarded by gate
        int waits; // calls in Wait; guarded by gate
        int isAsked; // 1 after an interrupt by the user, as opposed to one by Leave

        delegate int Adding(ulong* number, lapwing_error* error);

        /// <summary>Opens an empty set. `wait` has the same meaning as for a subscriber.</summary>
        public WaitSet(WaitStrategy wait = WaitStrategy.Backoff)
            : this(Library.With(() => Opened(wait))) { }

        WaitSet(WaitSetHandle handle)
            : base(handle)
        {
            this.handle = handle;
        }

        static WaitSetHandle Opened(WaitStrategy wait)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            LapwingException.Check(
                Native.lapwing_wait_set_open(Option.Choice(nameof(wait), wait), ref pointer, &error), &error);
            return new WaitSetHandle(pointer);
        }

        /// <summary>Adds a subscriber, which is ready when a read would return an item or the bus has ended.</summary>
        /// <remarks>
        /// Fails with limit if the set has 127 sources, and with misuse if another call is waiting or the subscriber is
        /// already in a set.
        /// </remarks>
        public Source Add(Subscriber subscriber, object token = null) =>
            Add(subscriber, token, (number, error) =>
                Native.lapwing_wait_set_add_subscriber(handle, subscriber.Handle, 0, number, error));

        /// <summary>
        /// Adds a channel, which is ready when a message, call or reply has arrived or the channel has ended. A
        /// producer is ready when there is room for a message of `bytes`. A wait aborts an open claim.
        /// </summary>
        public Source Add(Channel channel, object token = null, int bytes = 0)
        {
            var room = (UIntPtr)Option.Size(nameof(bytes), bytes);
            return Add(channel, token, (number, error) =>
                Native.lapwing_wait_set_add_channel(handle, channel.Handle, room, 0, number, error));
        }

        /// <summary>Adds a listener, which is ready when accept or Tend has work to do.</summary>
        public Source Add(Listener listener, object token = null) =>
            Add(listener, token, (number, error) =>
                Native.lapwing_wait_set_add_listener(handle, listener.Handle, 0, number, error));

        /// <summary>Adds a descriptor. Remove it before you close it.</summary>
        public Source AddDescriptor(int descriptor, PollEvents events, object token = null) =>
            Add(null, token, (number, error) =>
                Native.lapwing_wait_set_add_fd(handle, descriptor, (uint)events, 0, number, error));

        /// <summary>
        /// Adds a timer, which is ready after `dueTime`, and then every `period`. If `dueTime` is
        /// Timeout.InfiniteTimeSpan, the timer does not run until SetTimer.
        /// </summary>
        /// <param name="period">null: the timer expires once.</param>
        public Source AddTimer(TimeSpan dueTime, TimeSpan? period = null, object token = null)
        {
            var due = Time.Ns(dueTime);
            var every = EveryNs(period);
            return Add(null, token, (number, error) =>
                Native.lapwing_wait_set_add_timer(handle, due, every, 0, number, error));
        }

        static long EveryNs(TimeSpan? period)
        {
            long every = 0;
            Option.Span(nameof(period), period, ref every);
            return every;
        }

        Source Add(LapwingObject owner, object token, Adding add)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            Source source;
            lock (gate)
            {
                ulong number = 0;
                if (owner != null) handle.Hold(owner.AnyHandle);
                try
                {
                    LapwingException.Check(add(&number, &error), &error);
                }
                catch when (owner != null && owner.Membership?.Set != this)
                {
                    handle.LetGo(owner.AnyHandle);
                    throw;
                }
                source = new Source(this, owner, number, token ?? owner);
                sources.Add(number, source);
                if (owner == null) return source;
                owner.Membership = source;
            }
            Thread.MemoryBarrier(); // Dispose closes the handle, then reads Membership
            if (owner.AnyHandle.IsClosed) Leave(source);
            return source;
        }

        /// <summary>Sets a timer again. If `dueTime` is Timeout.InfiniteTimeSpan, stops it.</summary>
        /// <param name="period">null: the timer expires once.</param>
        public void SetTimer(Source timer, TimeSpan dueTime, TimeSpan? period = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var number = NumberOf(timer);
            LapwingException.Check(
                Native.lapwing_wait_set_set_timer(handle, number, Time.Ns(dueTime), EveryNs(period), &error), &error);
        }

        /// <summary>Removes a source. Fails with not-found if it is not in the set.</summary>
        public void Remove(Source source)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var number = NumberOf(source);
            lock (gate)
            {
                LapwingException.Check(Native.lapwing_wait_set_remove(handle, number, &error), &error);
                sources.Remove(number);
                if (source.Owner != null) LetGo(source);
            }
        }

        ulong NumberOf(Source source)
        {
            if (source == null) throw new ArgumentNullException(nameof(source));
            return source.Set == this ? source.Number : throw new ArgumentException("the source is of another set");
        }

        void LetGo(Source source)
        {
            source.Owner.Membership = null;
            handle.LetGo(source.Owner.AnyHandle);
        }

        /// <summary>
        /// Removes a disposed source. Any thread may call it. A current wait restarts without the source.
        /// </summary>
        internal void Leave(Source source)
        {
            lock (gate)
            {
                if (!sources.Remove(source.Number)) return;
                leaving.Add(source);
                if (waits == 0) RemoveLeaving();
                else handle.Interrupt();
            }
        }

        void RemoveLeaving()
        {
            foreach (var source in leaving)
            {
                try
                {
                    Native.lapwing_wait_set_remove(handle, source.Number, null);
                }
                catch (ObjectDisposedException)
                {
                    // The set was disposed and no longer has sources.
                }
                LetGo(source);
            }
            leaving.Clear();
        }

        /// <summary>Waits for the next source that is ready.</summary>
        public Ready Wait(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            Ready ready;
            LapwingException.Check(WaitFor(Time.Ns(timeout), out ready, &error), &error);
            return ready;
        }

        /// <summary>
        /// The same, but returns false if no source is ready within the timeout, which is 0 by default.
        /// </summary>
        public bool TryWait(out Ready ready, TimeSpan timeout = default(TimeSpan))
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var result = WaitFor(Time.Ns(timeout), out ready, &error);
            if (LapwingException.IsNothing(result)) return false;
            LapwingException.Check(result, &error);
            return true;
        }

        /// <summary>Waits on a pool thread. A cancellation ends the wait.</summary>
        public Task<Ready> WaitAsync(CancellationToken token = default(CancellationToken)) => Run(() => Wait(), token);

        int WaitFor(long timeoutNs, out Ready ready, lapwing_error* error)
        {
            var raw = new lapwing_ready { struct_size = (uint)sizeof(lapwing_ready) };
            var begin = Stopwatch.GetTimestamp();
            for (;;)
            {
                var result = WaitOnce(Left(timeoutNs, begin), &raw, error);
                var isStale = IsStale(result);
                Source source = null;
                if (result == 0)
                {
                    lock (gate) sources.TryGetValue(raw.source, out source);
                }
                ready = source == null ? default(Ready) : new Ready(source, raw);
                if (source != null) return 0;
                if (result != 0 && result != (int)ErrorCode.Interrupted) return result;
                // Otherwise the ready source has left, or the interrupt came from Leave or from a late cancellation.
                if (result != 0 && Interlocked.Exchange(ref isAsked, 0) == 1 && !isStale) return result;
            }
        }

        int WaitOnce(long timeoutNs, lapwing_ready* raw, lapwing_error* error)
        {
            lock (gate) ++waits;
            try
            {
                return Native.lapwing_wait_set_wait(handle, raw, BeginWait(timeoutNs), error);
            }
            finally
            {
                lock (gate)
                {
                    if (--waits == 0) RemoveLeaving();
                }
            }
        }

        static long Left(long timeoutNs, long begin)
        {
            if (timeoutNs <= 0) return timeoutNs;
            var passed = (double)(Stopwatch.GetTimestamp() - begin) / Stopwatch.Frequency * 1e9;
            return Math.Max(1, timeoutNs - (long)passed);
        }

        /// <summary>Ends the current wait with interrupted, or the next wait if there is none.</summary>
        public override void Interrupt()
        {
            Interlocked.Exchange(ref isAsked, 1);
            base.Interrupt();
        }

        /// <summary>Frees the set. Its sources stay open and can be added to another set.</summary>
        public override void Dispose()
        {
            base.Dispose();
            lock (gate)
            {
                foreach (var source in sources.Values)
                {
                    if (source.Owner != null) source.Owner.Membership = null;
                }
                sources.Clear();
            }
        }
    }
}
