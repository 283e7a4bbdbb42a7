using System;
using System.Collections;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>
    /// A message in the producer's memory. A write to it ends the process with SIGSEGV. The producer may change it, so
    /// copy it before you validate it.
    /// </summary>
    public sealed unsafe class UnsafeMessage : IDisposable
    {
        readonly Consumer owner; // kept alive, since the memory belongs to it
        readonly byte* payload;
        bool isDisposed;

        internal UnsafeMessage(Consumer owner, lapwing_message raw)
        {
            this.owner = owner;
            payload = (byte*)raw.payload;
            Length = (int)raw.bytes;
            Type = raw.type;
        }

        public uint Type { get; }

        public int Length { get; }

        public bool IsLive => !isDisposed && !owner.Handle.IsClosed;

        public byte* Payload => IsLive ? payload : throw new ObjectDisposedException(nameof(UnsafeMessage));

        /// <summary>Ends the view, so that the message can be released.</summary>
        public void Dispose() => isDisposed = true;
    }

    /// <summary>The receiving side of a channel. An iteration ends when the producer has closed it.</summary>
    public sealed unsafe class Consumer : Channel, IEnumerable<Message>
    {
        const int IteratedMessages = 64;

        readonly List<UnsafeMessage> views = new List<UnsafeMessage>(); // views of the last UnsafePeek

        internal Consumer(ChannelHandle handle) : base(handle) { }

        public static Consumer Connect(string path, ChannelOptions options = null, TimeSpan? timeout = null) =>
            new Consumer(Connected(path, ChannelRole.Consumer, options, timeout));

        /// <summary>Returns copies of up to `max` messages, starting with the oldest unreleased one.</summary>
        public IReadOnlyList<Message> Peek(int max, TimeSpan? timeout = null) => Copies(PeekRaw(max, timeout));

        public Task<IReadOnlyList<Message>> PeekAsync(int max, CancellationToken token = default(CancellationToken)) =>
            Run(() => Peek(max), token);

        /// <summary>The same without copying. Dispose each message before you release it.</summary>
        public IReadOnlyList<UnsafeMessage> UnsafePeek(int max, TimeSpan? timeout = null)
        {
            var messages = PeekRaw(max, timeout);
            var peeked = new UnsafeMessage[messages.Length];
            for (var i = 0; i < peeked.Length; ++i) peeked[i] = new UnsafeMessage(this, messages[i]);
            views.Clear();
            views.AddRange(peeked);
            return peeked;
        }

        lapwing_message[] PeekRaw(int max, TimeSpan? timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var messages = new lapwing_message[max];
            UIntPtr count;
            fixed (lapwing_message* at = messages)
            {
                LapwingException.Check(PeekInto(at, max, timeout, &count, &error), &error);
            }
            Array.Resize(ref messages, (int)count);
            return messages;
        }

        int PeekInto(lapwing_message* messages, int max, TimeSpan? timeout, UIntPtr* count, lapwing_error* error)
        {
            CheckViews(views.Count);
            int result;
            do result = Native.lapwing_channel_peek(Handle, messages, (UIntPtr)max, BeginWait(timeout), count, error);
            while (IsStale(result));
            return result;
        }

        static IReadOnlyList<Message> Copies(lapwing_message[] messages)
        {
            var copies = new Message[messages.Length];
            fixed (lapwing_message* at = messages)
            {
                for (var i = 0; i < copies.Length; ++i) copies[i] = Message.Of(at + i);
            }
            return copies;
        }

        /// <summary>Releases the first `count` messages of the last peek to the producer.</summary>
        public void Release(int count)
        {
            CheckViews(count);
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            LapwingException.Check(Native.lapwing_channel_release(Handle, (UIntPtr)count, &error), &error);
            views.RemoveRange(0, Math.Min(count, views.Count));
        }

        void CheckViews(int count)
        {
            for (var i = 0; i < count && i < views.Count; ++i)
            {
                if (!views[i].IsLive) continue;
                throw new LapwingException(ErrorCode.Misuse,
                    $"message {i} of the last UnsafePeek has a live view; call its Dispose()");
            }
        }

        /// <summary>Copies and releases the next message.</summary>
        public Message Receive(TimeSpan? timeout = null)
        {
            var message = Peek(1, timeout)[0];
            Release(1);
            return message;
        }

        /// <summary>
        /// The same, but returns false if no message arrives within the timeout, which is 0 by default.
        /// </summary>
        public bool TryReceive(out Message message, TimeSpan timeout = default(TimeSpan))
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            lapwing_message peeked;
            UIntPtr count;
            message = default(Message);
            var result = PeekInto(&peeked, 1, timeout, &count, &error);
            if (LapwingException.IsNothing(result)) return false;
            LapwingException.Check(result, &error);
            message = Message.Of(&peeked);
            Release(1);
            return true;
        }

        public Task<Message> ReceiveAsync(CancellationToken token = default(CancellationToken)) =>
            Run(() => Receive(), token);

        IReadOnlyList<Message> PeekUntilClosed()
        {
            try
            {
                return Peek(IteratedMessages);
            }
            catch (LapwingException error) when (error.Code == ErrorCode.Closed)
            {
                return new Message[0];
            }
        }

        /// <summary>
        /// Iterates over copies of messages, and releases them in groups of up to 64 after the loop has taken them.
        /// Ends at closed.
        /// </summary>
        public IEnumerator<Message> GetEnumerator()
        {
            for (var messages = PeekUntilClosed(); messages.Count > 0; messages = PeekUntilClosed())
            {
                var taken = 0;
                try
                {
                    foreach (var message in messages)
                    {
                        ++taken;
                        yield return message;
                    }
                }
                finally
                {
                    if (!Handle.IsClosed) Release(taken);
                }
            }
        }

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }
}
