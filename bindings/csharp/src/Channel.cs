// One side of a channel: the common base of producers, consumers and duplexes.
using System;
using System.Collections.Generic;
using System.Linq;

namespace Lapwing
{
    /// <summary>
    /// Options of one side. Sizes apply to sent messages; a consumer ignores them. Null selects the default.
    /// </summary>
    public sealed class ChannelOptions
    {
        /// <summary>Name of this side, shown by `lapwing info`.</summary>
        public string Name { get; set; }

        /// <summary>Bytes, a power of two; null: 1 MiB.</summary>
        public long? Capacity { get; set; }

        /// <summary>Size limit of one message; null: 64 KiB.</summary>
        public int? MessageBytesMax { get; set; }

        /// <summary>Limit on accepted unanswered calls, and on untaken one-way messages; null: 64.</summary>
        public int? CallWindow { get; set; }

        /// <summary>null: backoff.</summary>
        public WaitStrategy? Wait { get; set; }

        /// <summary>The only user to accept or to connect to.</summary>
        public uint? PeerUid { get; set; }

        /// <summary>Allocate this side's memory on that node, or fail.</summary>
        public uint? NumaNode { get; set; }

        /// <summary>How long Connect retries while there is no listener; null: it tries once.</summary>
        public TimeSpan? Retry { get; set; }

        /// <summary>Align payloads to 64 bytes; otherwise to 16, and payloads of 49 to 56 bytes to 8.</summary>
        public bool Aligned { get; set; }

        /// <summary>Use huge pages, or fail.</summary>
        public bool HugePages { get; set; }

        /// <summary>Use a fence for each message instead of a system call.</summary>
        public bool NoMembarrier { get; set; }

        /// <summary>Deliver replies that arrive after the end of their call, marked as late.</summary>
        public bool LateReplies { get; set; }

        internal unsafe lapwing_channel_options Raw(Kept kept)
        {
            lapwing_channel_options raw;
            Native.lapwing_channel_options_init(&raw, (uint)sizeof(lapwing_channel_options));
            raw.flags = (Aligned ? Native.ChannelAligned : 0) | (HugePages ? Native.ChannelHugePages : 0) |
                (NumaNode != null ? Native.ChannelNuma : 0) | (PeerUid != null ? Native.ChannelPeerUid : 0) |
                (NoMembarrier ? Native.ChannelNoMembarrier : 0) | (LateReplies ? Native.ChannelLateReplies : 0);
            raw.name = kept.Add(Name);
            Option.Size(nameof(Capacity), Capacity, ref raw.capacity);
            Option.Size(nameof(MessageBytesMax), MessageBytesMax, ref raw.message_bytes_max);
            Option.Size(nameof(CallWindow), CallWindow, ref raw.call_window);
            Option.Choice(nameof(Wait), Wait, ref raw.wait);
            raw.numa_node = NumaNode ?? 0;
            raw.peer_uid = PeerUid ?? 0;
            Option.Span(nameof(Retry), Retry, ref raw.retry_ns);
            return raw;
        }
    }

    /// <summary>A message to send, or a copy of one that arrived.</summary>
    public struct Message
    {
        public Message(uint type, byte[] payload)
        {
            Type = type;
            Payload = payload;
        }

        /// <summary>Defined by the sender.</summary>
        public uint Type { get; }

        public byte[] Payload { get; }

        internal static unsafe Message Of(lapwing_message* raw)
        {
            var payload = new byte[(int)raw->bytes];
            fixed (byte* to = payload) Buffer.MemoryCopy((void*)raw->payload, to, payload.Length, payload.Length);
            return new Message(raw->type, payload);
        }

        internal lapwing_message Raw(Kept kept) => new lapwing_message
        {
            payload = kept.Add(Payload),
            bytes = (UIntPtr)(Payload?.Length ?? 0),
            type = Type,
        };
    }

    public sealed unsafe class ChannelInfo
    {
        internal ChannelInfo(lapwing_channel_info* raw)
        {
            Role = (ChannelRole)raw->role;
            ConnectionId = Id.Of(raw->connection_id);
            MessageBytesMax = (long)raw->message_bytes_max;
            Sent = raw->sent;
            Received = raw->received;
            Released = raw->released;
            FullWaits = raw->full_waits;
            EmptyWaits = raw->empty_waits;
            Sleeps = raw->sleeps;
            Wakes = raw->wakes;
            LateReplies = raw->late_replies;
        }

        public ChannelRole Role { get; }

        /// <summary>The same on both sides.</summary>
        public Id ConnectionId { get; }

        /// <summary>Size limit of messages that arrive (consumer) or are sent (otherwise).</summary>
        public long MessageBytesMax { get; }

        public ulong Sent { get; }

        /// <summary>Messages that were received and released.</summary>
        public ulong Received { get; }

        /// <summary>Sent messages that the other side has released.</summary>
        public ulong Released { get; }

        public ulong FullWaits { get; }

        public ulong EmptyWaits { get; }

        public ulong Sleeps { get; }

        /// <summary>Wake-ups of the other side. Each is a system call.</summary>
        public ulong Wakes { get; }

        public ulong LateReplies { get; }
    }

    public abstract unsafe class Channel : LapwingObject
    {
        internal readonly ChannelHandle Handle;

        internal Channel(ChannelHandle handle)
            : base(handle)
        {
            Handle = handle;
        }

        internal static ChannelHandle Connected(
            string path, ChannelRole role, ChannelOptions options, TimeSpan? timeout) =>
            Library.With(() => ConnectedNow(path, role, options ?? new ChannelOptions(), timeout));

        static ChannelHandle ConnectedNow(string path, ChannelRole role, ChannelOptions options, TimeSpan? timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            using (var kept = new Kept())
            {
                var raw = options.Raw(kept);
                LapwingException.Check(
                    Native.lapwing_channel_connect(Text.Zero(path), (uint)role, &raw, Time.Ns(timeout), ref pointer, &error),
                    &error);
            }
            return new ChannelHandle(pointer);
        }

        /// <summary>Sends all messages. An exception's Sent is the number of messages sent.</summary>
        internal int SendAll(IReadOnlyList<Message> messages, TimeSpan? timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            using (var kept = new Kept())
            {
                var raw = messages.Select(message => message.Raw(kept)).ToArray();
                UIntPtr sent;
                int result;
                fixed (lapwing_message* at = raw)
                {
                    do result = Native.lapwing_channel_send(Handle, at, (UIntPtr)raw.Length, BeginWait(timeout), &sent, &error);
                    while (IsStale(result) && (int)sent == 0);
                }
                if (result == 0) return (int)sent;
                var failure = LapwingException.Of(result, &error);
                failure.Sent = (int)sent;
                throw failure;
            }
        }

        /// <summary>
        /// For an event loop. Returns true if nothing has arrived or, for a producer, `bytes` do not fit. Descriptor()
        /// then becomes readable when that may have changed. This is valid until the next call. False: try at once.
        /// </summary>
        public bool Arm(int bytes = 0)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            int armed;
            LapwingException.Check(Native.lapwing_channel_arm(Handle, (UIntPtr)bytes, &armed, &error), &error);
            return armed != 0;
        }

        /// <summary>
        /// Use it with Arm. It belongs to the channel: do not close it. Fails with closed after Close.
        /// </summary>
        public int Descriptor()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            int fd;
            LapwingException.Check(Native.lapwing_channel_fd(Handle, &fd, &error), &error);
            return fd;
        }

        public ChannelInfo Inspect()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var info = new lapwing_channel_info { struct_size = (uint)sizeof(lapwing_channel_info) };
            LapwingException.Check(Native.lapwing_channel_inspect(Handle, &info, &error), &error);
            return new ChannelInfo(&info);
        }

        /// <summary>
        /// Ends the channel and notifies the other side at once. Borrowed memory stays valid until Dispose, which also
        /// closes the channel. Idempotent.
        /// </summary>
        public void Close()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            LapwingException.Check(Native.lapwing_channel_close(Handle, &error), &error);
        }
    }
}
