using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>The sending side of a channel.</summary>
    public sealed unsafe class Producer : Channel
    {
        internal Producer(ChannelHandle handle) : base(handle) { }

        public static Producer Connect(string path, ChannelOptions options = null, TimeSpan? timeout = null) =>
            new Producer(Connected(path, ChannelRole.Producer, options, timeout));

        /// <summary>
        /// Copies messages into the channel and returns their number. An exception's Sent is the number sent.
        /// </summary>
        public int Send(IReadOnlyList<Message> messages, TimeSpan? timeout = null) => SendAll(messages, timeout);

        public void Send(Message message, TimeSpan? timeout = null) => SendAll(new[] { message }, timeout);

        public Task<int> SendAsync(IReadOnlyList<Message> messages, CancellationToken token = default(CancellationToken)) =>
            Run(() => Send(messages), token);

        /// <summary>
        /// Returns room for a message of up to `bytes` in the channel's memory, until Commit, Abort or the next Claim.
        /// </summary>
        public byte* Claim(int bytes, TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            void* payload;
            int result;
            do result = Native.lapwing_channel_claim(Handle, (UIntPtr)bytes, BeginWait(timeout), &payload, &error);
            while (IsStale(result));
            LapwingException.Check(result, &error);
            return (byte*)payload;
        }

        /// <summary>Sends the first `bytes` of the claim.</summary>
        public void Commit(int bytes, uint type)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            LapwingException.Check(Native.lapwing_channel_commit(Handle, (UIntPtr)bytes, type, &error), &error);
        }

        public void Abort()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            LapwingException.Check(Native.lapwing_channel_abort(Handle, &error), &error);
        }

        /// <summary>Waits until the consumer has released everything.</summary>
        public void Drain(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            int result;
            do result = Native.lapwing_channel_drain(Handle, BeginWait(timeout), &error);
            while (IsStale(result));
            LapwingException.Check(result, &error);
        }
    }
}
