// Calls and one-way messages, in both directions.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>A call or a one-way message of the other side.</summary>
    public sealed class Incoming
    {
        internal Incoming(ulong call, Message message)
        {
            Call = call;
            Message = message;
        }

        /// <summary>To reply to; 0: a one-way message, no answer is waited for.</summary>
        public ulong Call { get; }

        public bool IsCall => Call != 0;

        public Message Message { get; }
    }

    /// <summary>How a call ended.</summary>
    public sealed class Reply
    {
        internal unsafe Reply(lapwing_reply* raw)
        {
            Call = raw->call;
            IsError = raw->is_error != 0;
            IsLate = raw->is_late != 0;
            Code = raw->code;
            Message = Message.Of(&raw->message);
        }

        public ulong Call { get; }

        /// <summary>The other side answered with an error of its own: Code and Words.</summary>
        public bool IsError { get; }

        /// <summary>The call had ended already.</summary>
        public bool IsLate { get; }

        /// <summary>Code of an error; the server chooses it.</summary>
        public uint Code { get; }

        public Message Message { get; }

        /// <summary>Text of an error.</summary>
        public string Words => IsError ? Encoding.UTF8.GetString(Message.Payload) : "";
    }

    /// <summary>The other side's answer to Call was an error of its own.</summary>
    public sealed class CallException : Exception
    {
        internal CallException(uint code, string words)
            : base(words)
        {
            Code = code;
        }

        /// <summary>The server's to choose.</summary>
        public uint Code { get; }
    }

    /// <summary>Calls and one-way messages. An iteration yields what the other side asks, and ends at closed.</summary>
    public sealed unsafe class Duplex : Channel, IEnumerable<Incoming>
    {
        internal Duplex(ChannelHandle handle) : base(handle) { }

        public static Duplex Connect(string path, ChannelOptions options = null, TimeSpan? timeout = null) =>
            new Duplex(Connected(path, ChannelRole.Duplex, options, timeout));

        /// <summary>Sends a request and waits for the reply.</summary>
        public Message Call(Message request, TimeSpan? timeout = null)
        {
            var reply = Finish(StartCall(request, timeout));
            if (reply.IsError) throw new CallException(reply.Code, reply.Words);
            return reply.Message;
        }

        public Task<Message> CallAsync(Message request, CancellationToken token = default(CancellationToken)) =>
            Run(() => Call(request), token);

        /// <summary>Sends a request, whose reply must arrive within the timeout. Returns the call.</summary>
        public ulong StartCall(Message request, TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            ulong call;
            int result;
            using (var kept = new Kept())
            {
                var raw = request.Raw(kept);
                do result = Native.lapwing_channel_start(Handle, &raw, BeginWait(timeout), &call, &error);
                while (IsStale(result));
            }
            LapwingException.Check(result, &error);
            return call;
        }

        /// <summary>The end of that call: waits for it until the call's own timeout.</summary>
        public Reply Finish(ulong call)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var reply = new lapwing_reply { struct_size = (uint)sizeof(lapwing_reply) };
            int result;
            do
            {
                BeginWait(null); // as long as the call's own timeout
                result = Native.lapwing_channel_finish(Handle, call, &reply, &error);
            }
            while (IsStale(result));
            return Finished(result, &reply, &error);
        }

        /// <summary>The next call to end, or a late reply.</summary>
        public Reply FinishAny(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var reply = new lapwing_reply { struct_size = (uint)sizeof(lapwing_reply) };
            int result;
            do result = Native.lapwing_channel_finish_any(Handle, BeginWait(timeout), &reply, &error);
            while (IsStale(result));
            return Finished(result, &reply, &error);
        }

        static Reply Finished(int result, lapwing_reply* reply, lapwing_error* error)
        {
            if (result == 0) return new Reply(reply);
            var failure = LapwingException.Of(result, error);
            failure.Call = reply->call;
            throw failure;
        }

        /// <summary>Ends a call without a reply.</summary>
        public void Cancel(ulong call)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            LapwingException.Check(Native.lapwing_channel_cancel(Handle, call, &error), &error);
        }

        /// <summary>The next call or one-way message of the other side.</summary>
        public Incoming Next(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var request = new lapwing_request { struct_size = (uint)sizeof(lapwing_request) };
            LapwingException.Check(NextInto(&request, timeout, &error), &error);
            return new Incoming(request.call, Message.Of(&request.message));
        }

        /// <summary>The same. False: nothing came within the timeout; by default it does not wait.</summary>
        public bool TryNext(out Incoming incoming, TimeSpan timeout = default(TimeSpan))
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var request = new lapwing_request { struct_size = (uint)sizeof(lapwing_request) };
            incoming = null;
            var result = NextInto(&request, timeout, &error);
            if (LapwingException.IsNothing(result)) return false;
            LapwingException.Check(result, &error);
            incoming = new Incoming(request.call, Message.Of(&request.message));
            return true;
        }

        int NextInto(lapwing_request* request, TimeSpan? timeout, lapwing_error* error)
        {
            int result;
            do result = Native.lapwing_channel_next(Handle, BeginWait(timeout), request, error);
            while (IsStale(result));
            return result;
        }

        public Task<Incoming> NextAsync(CancellationToken token = default(CancellationToken)) =>
            Run(() => Next(), token);

        /// <summary>Answers a call that Next gave, in any order.</summary>
        public void Reply(ulong call, Message message, TimeSpan? timeout = null) => Answer(call, message, null, timeout);

        /// <summary>Answers a call with an error of the server's own.</summary>
        public void ReplyError(ulong call, uint code, string words, TimeSpan? timeout = null) =>
            Answer(call, new Message(0, Encoding.UTF8.GetBytes(words)), code, timeout);

        void Answer(ulong call, Message message, uint? errorCode, TimeSpan? timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            int result;
            using (var kept = new Kept())
            {
                var raw = new lapwing_reply
                {
                    struct_size = (uint)sizeof(lapwing_reply),
                    is_error = errorCode == null ? 0u : 1u,
                    code = errorCode ?? 0,
                    call = call,
                    message = message.Raw(kept),
                };
                do result = Native.lapwing_channel_reply(Handle, &raw, BeginWait(timeout), &error);
                while (IsStale(result));
            }
            LapwingException.Check(result, &error);
        }

        /// <summary>Sends one-way messages. Returns how many; an exception has Sent.</summary>
        public int Send(IReadOnlyList<Message> messages, TimeSpan? timeout = null) => SendAll(messages, timeout);

        public void Send(Message message, TimeSpan? timeout = null) => SendAll(new[] { message }, timeout);

        Incoming NextUntilClosed()
        {
            try
            {
                return Next();
            }
            catch (LapwingException error) when (error.Code == ErrorCode.Closed)
            {
                return null;
            }
        }

        public IEnumerator<Incoming> GetEnumerator()
        {
            for (var incoming = NextUntilClosed(); incoming != null; incoming = NextUntilClosed()) yield return incoming;
        }

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }
}
