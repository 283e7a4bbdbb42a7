// Calls and one-way messages in both directions.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>A call or a one-way message from the other side.</summary>
    public sealed class Incoming
    {
        internal Incoming(ulong call, Message message)
        {
            Call = call;
            Message = message;
        }

        /// <summary>Identifies the call in a reply. 0: a one-way message, which has no reply.</summary>
        public ulong Call { get; }

        public bool IsCall => Call != 0;

        public Message Message { get; }
    }

    /// <summary>The reply to a call.</summary>
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

        /// <summary>The other side answered with an error, given in Code and Words.</summary>
        public bool IsError { get; }

        /// <summary>The reply arrived after the call had ended.</summary>
        public bool IsLate { get; }

        /// <summary>Code of an error, defined by the server.</summary>
        public uint Code { get; }

        public Message Message { get; }

        /// <summary>Text of an error.</summary>
        public string Words => IsError ? Encoding.UTF8.GetString(Message.Payload) : "";
    }

    /// <summary>The other side answered Call with an error.</summary>
    public sealed class CallException : Exception
    {
        internal CallException(uint code, string words)
            : base(words)
        {
            Code = code;
        }

        /// <summary>Defined by the server.</summary>
        public uint Code { get; }
    }

    /// <summary>Calls and one-way messages. Iterating yields the other side's requests, and ends at closed.</summary>
    public sealed unsafe class Duplex : Channel, IEnumerable<Incoming>
    {
        internal Duplex(ChannelHandle handle) : base(handle) { }

        public static Duplex Connect(string path, ChannelOptions options = null, TimeSpan? timeout = null) =>
            new Duplex(Connected(path, ChannelRole.Duplex, options, timeout));

        /// <summary>Sends a request and waits for the reply. Throws CallException if the reply is an error.</summary>
        public Message Call(Message request, TimeSpan? timeout = null)
        {
            var reply = Finish(StartCall(request, timeout));
            if (reply.IsError) throw new CallException(reply.Code, reply.Words);
            return reply.Message;
        }

        public Task<Message> CallAsync(Message request, CancellationToken token = default(CancellationToken)) =>
            Run(() => Call(request), token);

        /// <summary>Sends a request. Its reply must arrive within the timeout. Returns the call's number.</summary>
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

        /// <summary>Waits for the reply to that call, at most until the call's own timeout.</summary>
        public Reply Finish(ulong call)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var reply = new lapwing_reply { struct_size = (uint)sizeof(lapwing_reply) };
            int result;
            do
            {
                BeginWait(null); // the call's own timeout limits the wait
                result = Native.lapwing_channel_finish(Handle, call, &reply, &error);
            }
            while (IsStale(result));
            return Finished(result, &reply, &error);
        }

        /// <summary>Waits for the next call to end, or for a late reply.</summary>
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

        /// <summary>Waits for the next call or one-way message from the other side.</summary>
        public Incoming Next(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var request = new lapwing_request { struct_size = (uint)sizeof(lapwing_request) };
            LapwingException.Check(NextInto(&request, timeout, &error), &error);
            return new Incoming(request.call, Message.Of(&request.message));
        }

        /// <summary>The same, but returns false if nothing arrives within the timeout, which is 0 by default.</summary>
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

        /// <summary>Answers a call that Next returned, in any order.</summary>
        public void Reply(ulong call, Message message, TimeSpan? timeout = null) => Answer(call, message, null, timeout);

        /// <summary>Answers a call with an error. The server defines the meaning of `code`.</summary>
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

        /// <summary>Sends one-way messages and returns their number. An exception's Sent is the number sent.</summary>
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
