using System;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>Listens at a path. Each accepted peer has its own channel.</summary>
    public sealed unsafe class Listener : LapwingObject
    {
        readonly ListenerHandle handle;

        Listener(ListenerHandle handle)
            : base(handle)
        {
            this.handle = handle;
        }

        internal ListenerHandle Handle => handle;

        /// <param name="peerUid">The only user to accept; null: this user and root.</param>
        public static Listener Open(string path, uint? peerUid = null) =>
            Library.With(() => new Listener(Opened(path, peerUid)));

        static ListenerHandle Opened(string path, uint? peerUid)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            using (var kept = new Kept())
            {
                var raw = new ChannelOptions { PeerUid = peerUid }.Raw(kept);
                LapwingException.Check(Native.lapwing_listener_open(Text.Zero(path), &raw, ref pointer, &error), &error);
            }
            return new ListenerHandle(pointer);
        }

        /// <summary>Replaces the listener at `path`, as soon as the old listener accepts a peer or calls
        /// Tend.</summary>
        public static Listener TakeOver(string path, uint? peerUid = null, TimeSpan? timeout = null) =>
            Library.With(() => new Listener(TakenOver(path, peerUid, timeout)));

        static ListenerHandle TakenOver(string path, uint? peerUid, TimeSpan? timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            using (var kept = new Kept())
            {
                var raw = new ChannelOptions { PeerUid = peerUid }.Raw(kept);
                LapwingException.Check(
                    Native.lapwing_listener_take_over(Text.Zero(path), &raw, Time.Ns(timeout), ref pointer, &error), &error);
            }
            return new ListenerHandle(pointer);
        }

        public Producer AcceptProducer(ChannelOptions options = null, TimeSpan? timeout = null) =>
            new Producer(Accepted(ChannelRole.Producer, options, timeout));

        public Consumer AcceptConsumer(ChannelOptions options = null, TimeSpan? timeout = null) =>
            new Consumer(Accepted(ChannelRole.Consumer, options, timeout));

        public Duplex AcceptDuplex(ChannelOptions options = null, TimeSpan? timeout = null) =>
            new Duplex(Accepted(ChannelRole.Duplex, options, timeout));

        /// <summary>Accepts a peer on a pool thread. `role` is the role of this side.</summary>
        public Task<Channel> AcceptAsync(
            ChannelRole role, ChannelOptions options = null, CancellationToken token = default(CancellationToken)) =>
            Run<Channel>(() =>
            {
                if (role == ChannelRole.Producer) return AcceptProducer(options);
                return role == ChannelRole.Consumer ? (Channel)AcceptConsumer(options) : AcceptDuplex(options);
            }, token);

        ChannelHandle Accepted(ChannelRole role, ChannelOptions options, TimeSpan? timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            int result;
            using (var kept = new Kept())
            {
                var raw = (options ?? new ChannelOptions()).Raw(kept);
                do
                {
                    result = Native.lapwing_listener_accept(handle, (uint)role, &raw, BeginWait(timeout), ref pointer, &error);
                }
                while (IsStale(result));
            }
            LapwingException.Check(result, &error);
            return new ChannelHandle(pointer);
        }

        /// <summary>Drops silent clients and lets a successor take over. Call it while serving a peer.</summary>
        public void Tend()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            LapwingException.Check(Native.lapwing_listener_tend(handle, &error), &error);
        }

        /// <summary>
        /// Returns a descriptor that is readable when the call that was made last, accept or Tend, has work to do.
        /// Fails with closed after a successor has taken over.
        /// </summary>
        public int Descriptor()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            int fd;
            LapwingException.Check(Native.lapwing_listener_fd(handle, &fd, &error), &error);
            return fd;
        }
    }
}
