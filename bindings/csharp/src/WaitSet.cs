// Waits for several sources in one thread.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>The states for which a descriptor is ready: the bits of poll(2).</summary>
    [Flags]
    public enum PollEvents : uint
    {
        None = 0,
        In = 1,
        Priority = 2,
        Out = 4,

        /// <summary>Reported only.</summary>
        Error = 8,

        /// <summary>Reported only.</summary>
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

        /// <summary>null: a descriptor or a timer.</summary>
        internal LapwingObject Owner { get; }

        /// <summary>The library's.</summary>
        internal ulong Number { get; }

        /// <summary>As it was given to Add. By default the subscriber, channel or listener itself.</summary>
        public object Token { get; }

        internal void Leave() => Set.Leave(this);
    }

    /// <summary>Which source is ready.</summary>
    public struct Ready
    {
        internal Ready(Source source, lapwing_ready raw)
        {
            Source = source;
            Kind = (SourceKind)raw.kind;
            Expirations = raw.expirations;
            Events = (PollEvents)raw.events;
        }

        /// <summary>As Add returned it.</summary>
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
    /// Waits for several buses, channels, listeners, descriptors and timers in one thread. A wait takes nothing from
    /// the source that is ready: call the source itself, TryRead for example. A source with items left is ready again,
    /// and so is one that has ended. Sources take turns. The set owns no source. One that is disposed of leaves the
    /// set, also during a wait.
    /// </summary>
    public sealed unsafe class WaitSet : LapwingObject
    {
        readonly WaitSetHandle handle;
        readonly object gate = new object();
        readonly Dictionary<ulong, Source> sources = new Dictionary<ulong, Source>(); // by Number; guarded by gate
        readonly List<Source> leaving = new List<Source>(); // once no call waits; guarded by gate
        int waits; // calls under way; guarded by gate
        int isAsked; // an interrupt of the user's, and not of Leave

        delegate int Adding(ulong* number, lapwing_error* error);

        /// <summary>A set waits as its subscribers would.</summary>
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

        /// <summary>Ready when there is a record, an entry of a state, an event or the end.</summary>
        /// <remarks>limit: there are 127 sources. misuse: another call waits, or it is in a set.</remarks>
        public Source Add(Subscriber subscriber, object token = null) =>
            Add(subscriber, token, (number, error) =>
                Native.lapwing_wait_set_add_subscriber(handle, subscriber.Handle, 0, number, error));

        /// <summary>
        /// Ready when there is a message, a call, a reply or the end; a producer, when there is room for a message of
        /// `bytes`. A wait aborts a claim that is open.
        /// </summary>
        public Source Add(Channel channel, object token = null, int bytes = 0)
        {
            var room = (UIntPtr)Option.Size(nameof(bytes), bytes);
            return Add(channel, token, (number, error) =>
                Native.lapwing_wait_set_add_channel(handle, channel.Handle, room, 0, number, error));
        }

        /// <summary>Ready when accept or Tend has something to do.</summary>
        public Source Add(Listener listener, object token = null) =>
            Add(listener, token, (number, error) =>
                Native.lapwing_wait_set_add_listener(handle, listener.Handle, 0, number, error));

        /// <summary>Remove it before it is closed.</summary>
        public Source AddDescriptor(int descriptor, PollEvents events, object token = null) =>
            Add(null, token, (number, error) =>
                Native.lapwing_wait_set_add_fd(handle, descriptor, (uint)events, 0, number, error));

        /// <summary>
        /// Ready after `dueTime`, and then every `period`. Timeout.InfiniteTimeSpan as `dueTime`: not until SetTimer.
        /// </summary>
        /// <param name="period">null: once.</param>
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
            Thread.MemoryBarrier(); // Dispose does the two in the other order
            if (owner.AnyHandle.IsClosed) Leave(source);
            return source;
        }

        /// <summary>Sets a timer anew. Timeout.InfiniteTimeSpan as `dueTime` stops it.</summary>
        /// <param name="period">null: once.</param>
        public void SetTimer(Source timer, TimeSpan dueTime, TimeSpan? period = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var number = NumberOf(timer);
            LapwingException.Check(
                Native.lapwing_wait_set_set_timer(handle, number, Time.Ns(dueTime), EveryNs(period), &error), &error);
        }

        /// <summary>not-found: it is not in the set.</summary>
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

        /// <summary>Removes a source that any thread has disposed of. A wait under way ends, and begins again without it.</summary>
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
                    // The set was disposed of meanwhile, and has no sources any more.
                }
                LetGo(source);
            }
            leaving.Clear();
        }

        /// <summary>The next source that is ready.</summary>
        public Ready Wait(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            Ready ready;
            LapwingException.Check(WaitFor(Time.Ns(timeout), out ready, &error), &error);
            return ready;
        }

        /// <summary>The same. False: no source was ready within the timeout; by default it does not wait.</summary>
        public bool TryWait(out Ready ready, TimeSpan timeout = default(TimeSpan))
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var result = WaitFor(Time.Ns(timeout), out ready, &error);
            if (LapwingException.IsNothing(result)) return false;
            LapwingException.Check(result, &error);
            return true;
        }

        /// <summary>Wait on a thread of the pool. A cancellation ends the wait.</summary>
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
                // Else the source that is ready has left, or Leave interrupted, or a cancellation that came too late.
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

        /// <summary>Ends the wait under way, or else the next one, with interrupted, once.</summary>
        public override void Interrupt()
        {
            Interlocked.Exchange(ref isAsked, 1);
            base.Interrupt();
        }

        /// <summary>Gives the set back, as every Dispose does. Its sources stay open, and can be added to another set.</summary>
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
