using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using Lapwing;

static class ChannelSteps
{
    const ulong NoSuchCall = ulong.MaxValue;

    internal static readonly Handles<Listener> Listeners = new Handles<Listener>();
    internal static readonly Handles<Channel> Channels = new Handles<Channel>();
    static readonly List<ulong> started = new List<ulong>(); // clients' calls, in the order in which they were started
    static readonly ConcurrentDictionary<string, ulong> served = new ConcurrentDictionary<string, ulong>();

    internal static readonly Dictionary<string, Func<Step, string>> All = new Dictionary<string, Func<Step, string>>
    {
        { "listener.open", step => Listeners.Put(step, Listener.Open(step.Text("path"))) },
        {
            "listener.take-over",
            step => Listeners.Put(step, Listener.TakeOver(step.Text("path"), null, step.Timeout))
        },
        { "listener.accept", Accept },
        { "listener.tend", step => Done(() => Listeners.Of(step).Tend()) },
        { "listener.interrupt", step => Done(() => Listeners.Of(step).Interrupt()) },
        { "listener.destroy", Listeners.Destroy },
        { "channel.connect", Connect },
        { "channel.write", Write },
        {
            "channel.abort",
            step =>
            {
                Claim(step, step.Int("bytes"));
                return Done(() => With<Producer>(step).Abort());
            }
        },
        { "channel.send", Send },
        { "channel.drain", step => Done(() => With<Producer>(step).Drain(step.Timeout)) },
        { "channel.peek", Peek },
        { "channel.release", step => Done(() => With<Consumer>(step).Release(step.Int("count"))) },
        { "channel.start", StartCall },
        { "channel.finish", Finish },
        { "channel.cancel", step => Done(() => With<Duplex>(step).Cancel(CallOf(step))) },
        { "channel.next", Next },
        { "channel.reply", Reply },
        { "channel.arm", step => $"ok armed={Names.Bit(Channels.Of(step).Arm(step.Int("bytes")))}" },
        { "channel.inspect", Inspect },
        { "channel.interrupt", step => Done(() => Channels.Of(step).Interrupt()) },
        { "channel.close", step => Done(() => Channels.Of(step).Close()) },
        { "channel.destroy", Channels.Destroy },
    };

    static string Done(Action action)
    {
        action();
        return "ok";
    }

    /// <summary>Returns the channel if it has the type T. Otherwise throws misuse, as C does.</summary>
    static T With<T>(Step step)
        where T : Channel
    {
        return Channels.Of(step) as T ?? throw new AnswerException("misuse");
    }

    static ChannelOptions OptionsOf(Step step) => new ChannelOptions
    {
        Capacity = step.IntOrNull("capacity"),
        MessageBytesMax = step.IntOrNull("message_bytes_max"),
        CallWindow = step.IntOrNull("call_window"),
        LateReplies = step.IsOn("late_replies"),
    };

    static string Accept(Step step)
    {
        var listener = Listeners.Of(step);
        var options = OptionsOf(step);
        switch (step.Text("role"))
        {
            case "producer": return Channels.Put(step, listener.AcceptProducer(options, step.Timeout));
            case "consumer": return Channels.Put(step, listener.AcceptConsumer(options, step.Timeout));
            default: return Channels.Put(step, listener.AcceptDuplex(options, step.Timeout));
        }
    }

    static string Connect(Step step)
    {
        var path = step.Text("path");
        var options = OptionsOf(step);
        switch (step.Text("role"))
        {
            case "producer": return Channels.Put(step, Producer.Connect(path, options, step.Timeout));
            case "consumer": return Channels.Put(step, Consumer.Connect(path, options, step.Timeout));
            default: return Channels.Put(step, Duplex.Connect(path, options, step.Timeout));
        }
    }

    static unsafe IntPtr Claim(Step step, int bytes) => (IntPtr)With<Producer>(step).Claim(bytes, step.Timeout);

    static string Write(Step step)
    {
        var payload = Records.Of(step.Number("n"), step.Int("bytes"));
        var claimed = step.Int("claim", payload.Length);
        var at = Claim(step, claimed);
        if (claimed >= payload.Length) Marshal.Copy(payload, 0, at, payload.Length);
        return Done(() => With<Producer>(step).Commit(payload.Length, (uint)step.Number("type")));
    }

    static Message MessageOf(Step step, ulong index = 0) =>
        new Message((uint)step.Number("type"), Records.Of(step.Number("n") + index, step.Int("bytes")));

    static Message[] MessagesOf(Step step) =>
        Enumerable.Range(0, step.Int("count", 1)).Select(index => MessageOf(step, (ulong)index)).ToArray();

    static string Send(Step step)
    {
        var messages = MessagesOf(step);
        try
        {
            var channel = Channels.Of(step);
            var duplex = channel as Duplex;
            var sent = duplex != null ? duplex.Send(messages, step.Timeout) : With<Producer>(step).Send(messages, step.Timeout);
            return $"ok sent={sent}";
        }
        catch (LapwingException error)
        {
            throw new AnswerException($"{Names.Of(error.Code)} sent={error.Sent}");
        }
        catch (AnswerException answer)
        {
            throw new AnswerException($"{answer.Message} sent=0");
        }
    }

    static string Peek(Step step)
    {
        var messages = With<Consumer>(step).Peek(step.Int("max"), step.Timeout);
        var texts = messages.Select(message => $"{message.Type}:{message.Payload.Length}:{Digest.Of(message.Payload)}");
        return $"ok count={messages.Count} messages={string.Join(",", texts)}";
    }

    static string StartCall(Step step)
    {
        var call = With<Duplex>(step).StartCall(MessageOf(step), step.Timeout);
        lock (started)
        {
            started.Add(call);
            return $"ok call={started.Count}";
        }
    }

    static ulong CallOf(Step step)
    {
        lock (started)
        {
            var number = step.Int("call");
            return number >= 1 && number <= started.Count ? started[number - 1] : NoSuchCall;
        }
    }

    static string Finish(Step step)
    {
        var duplex = With<Duplex>(step);
        var reply = step.Has("call") ? duplex.Finish(CallOf(step)) : duplex.FinishAny(step.Timeout);
        lock (started)
        {
            return $"ok call={started.IndexOf(reply.Call) + 1} error={Names.Bit(reply.IsError)} " +
                $"late={Names.Bit(reply.IsLate)} code={reply.Code} type={reply.Message.Type} " +
                $"bytes={reply.Message.Payload.Length} digest={Digest.Of(reply.Message.Payload)}";
        }
    }

    static string Next(Step step)
    {
        var incoming = With<Duplex>(step).Next(step.Timeout);
        served[step.Text("as")] = incoming.Call;
        var payload = incoming.Message.Payload;
        return $"ok call={Names.Bit(incoming.IsCall)} type={incoming.Message.Type} bytes={payload.Length} " +
            $"digest={Digest.Of(payload)}";
    }

    static string Reply(Step step)
    {
        var duplex = With<Duplex>(step);
        ulong call;
        served.TryGetValue(step.Text("call"), out call);
        if (step.Has("error")) duplex.ReplyError(call, (uint)step.Number("error"), step.Text("text") ?? "", step.Timeout);
        else duplex.Reply(call, MessageOf(step), step.Timeout);
        return "ok";
    }

    static string Inspect(Step step)
    {
        var info = Channels.Of(step).Inspect();
        return $"ok role={Names.Of(info.Role)} message_bytes_max={info.MessageBytesMax} sent={info.Sent} " +
            $"received={info.Received} released={info.Released} late={info.LateReplies}";
    }
}
