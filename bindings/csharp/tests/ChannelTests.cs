using System;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Lapwing;

static class ChannelTests
{
    static byte[] Bytes(string words) => Encoding.UTF8.GetBytes(words);

    static string Words(Message message) => Encoding.UTF8.GetString(message.Payload);

    /// <summary>Opens both ends of a channel. The accepting end has the role `role`.</summary>
    static void WithPair(ChannelRole role, Action<Channel, Channel> use, ChannelOptions options = null)
    {
        using (var folder = new Folder())
        using (var listener = Listener.Open(folder["c.sock"]))
        {
            var accept = listener.AcceptAsync(role, options);
            Channel connected;
            if (role == ChannelRole.Consumer) connected = Producer.Connect(folder["c.sock"], options, Check.Hang);
            else if (role == ChannelRole.Producer) connected = Consumer.Connect(folder["c.sock"], options, Check.Hang);
            else connected = Duplex.Connect(folder["c.sock"], options, Check.Hang);
            using (connected)
            using (var accepted = accept.Result) use(connected, accepted);
        }
    }

    internal static void WithMessages(Action<Producer, Consumer> use, ChannelOptions options = null) =>
        WithPair(ChannelRole.Consumer, (a, b) => use((Producer)a, (Consumer)b), options);

    static void WithDuplexes(Action<Duplex, Duplex> use, ChannelOptions options = null) =>
        WithPair(ChannelRole.Duplex, (a, b) => use((Duplex)a, (Duplex)b), options);

    [Test("Messages arrive in order, as copies, and are released")]
    static void Messages() => WithMessages((producer, consumer) =>
    {
        producer.Send(new[] { new Message(1, Bytes("one")), new Message(2, new byte[0]), new Message(3, Bytes("three")) });
        var messages = consumer.Peek(8, Check.Hang);
        Check.Same(new[] { "one", "", "three" }, messages.Select(Words));
        Check.Same(new uint[] { 1, 2, 3 }, messages.Select(message => message.Type));
        consumer.Release(2);
        Check.Equal("three", Words(consumer.ReceiveAsync().Result));
        Check.Fails(ErrorCode.Misuse, () => consumer.Release(1));
        producer.Drain(Check.Hang);
        Check.Equal(3ul, producer.Inspect().Sent);
        Check.Equal(ChannelRole.Consumer, consumer.Inspect().Role);
        Check.Fails(ErrorCode.WouldBlock, () => consumer.Peek(1, TimeSpan.Zero));
        Message tried;
        Check.That(!consumer.TryReceive(out tried, TimeSpan.FromMilliseconds(20)), "a message came");
        producer.Send(new Message(4, Bytes("four")));
        Check.That(consumer.TryReceive(out tried, Check.Hang), "no message came");
        Check.Equal("four", Words(tried));
        Check.That(!consumer.TryReceive(out tried), "it was not released");
        producer.Close();
        Check.Fails(ErrorCode.Closed, () => consumer.TryReceive(out tried, Check.Hang));
    });

    [Test("A message is written in place")]
    static unsafe void Claims() => WithMessages((producer, consumer) =>
    {
        var at = producer.Claim(16, Check.Hang);
        at[0] = (byte)'x';
        producer.Commit(1, 9);
        Check.Fails(ErrorCode.Misuse, () => producer.Commit(1, 9));
        producer.Claim(4, Check.Hang);
        producer.Abort();
        Check.Equal("x", Words(consumer.Receive(Check.Hang)));
    });

    [Test("A failed send says how many were sent, and a producer waits for room")]
    static void Room() => WithMessages((producer, consumer) =>
    {
        var messages = Enumerable.Range(0, 16).Select(i => new Message((uint)i, new byte[1024])).ToArray();
        var error = Check.Fails(ErrorCode.TimedOut, () => producer.Send(messages, TimeSpan.FromMilliseconds(20)));
        Check.That(error.Sent > 0 && error.Sent < 16, $"{error.Sent} were sent");
        var rest = producer.SendAsync(messages.Skip(error.Sent).ToArray());
        for (uint i = 0; i < 16; ++i) Check.Equal(i, consumer.Receive(Check.Hang).Type);
        Check.Equal(16 - error.Sent, rest.Result);
    }, new ChannelOptions { Capacity = 4096, MessageBytesMax = 1024 });

    [Test("A message with a live view is not released")]
    static unsafe void Views() => WithMessages((producer, consumer) =>
    {
        producer.Send(new Message(1, Bytes("viewed")));
        var view = consumer.UnsafePeek(2, Check.Hang).Single();
        Check.Equal((byte)'v', view.Payload[0]);
        var error = Check.Fails(ErrorCode.Misuse, () => consumer.Release(1));
        Check.That(error.Message.Contains("live view"), error.Message);
        view.Dispose();
        consumer.Release(1);
    });

    [Test("An iteration over messages ends when the producer closes")]
    static void Iterates() => WithMessages((producer, consumer) =>
    {
        producer.Send(new[] { "a", "b", "c" }.Select(words => new Message(1, Bytes(words))).ToArray());
        producer.Close();
        Check.Same(new[] { "a", "b", "c" }, consumer.Select(Words));
        Check.That(consumer.Descriptor() >= 0, "no descriptor");
        consumer.Close();
        Check.Fails(ErrorCode.Closed, () => consumer.Descriptor());
    });

    [Test("Calls are answered in any order, with replies and errors")]
    static void Calls() => WithDuplexes((client, server) =>
    {
        var calls = new[] { "one", "two", "three" }
            .Select(words => client.StartCall(new Message(1, Bytes(words)), Check.Hang)).ToArray();
        var requests = calls.Select(_ => server.Next(Check.Hang)).ToArray();
        server.Reply(requests[1].Call, new Message(2, Bytes("second")));
        server.ReplyError(requests[0].Call, 77, "no such instrument");
        Check.Equal("second", Words(client.Finish(calls[1]).Message));
        var error = client.FinishAny(Check.Hang);
        Check.That(error.IsError && error.Code == 77 && error.Words == "no such instrument", error.Words);
        client.Cancel(calls[2]);
        Check.Fails(ErrorCode.Misuse, () => client.Cancel(calls[2]));
        Check.Fails(ErrorCode.Misuse, () => server.Reply(requests[0].Call, new Message(2, Bytes(""))));
        Check.Fails(ErrorCode.TimedOut, () => client.Call(new Message(1, Bytes("slow")), TimeSpan.FromMilliseconds(20)));
        Check.That(server.Arm() == false, "nothing arrived");
        Incoming tried;
        while (server.TryNext(out tried)) Check.That(tried.IsCall, "one-way");
        Check.That(!server.TryNext(out tried, TimeSpan.FromMilliseconds(20)) && tried == null, "a request came");
        client.Close();
        Check.Fails(ErrorCode.Closed, () => server.TryNext(out tried, Check.Hang));
    });

    [Test("A server iterates over requests until the client closes, and a call waits in a task")]
    static void Serves() => WithDuplexes((client, server) =>
    {
        var served = Task.Run(() => server.Count(request =>
        {
            if (request.IsCall) server.Reply(request.Call, request.Message);
            return request.IsCall;
        }));
        client.Send(new Message(4, Bytes("note")));
        Check.Equal("echo", Words(client.CallAsync(new Message(1, Bytes("echo"))).Result));
        client.Close();
        Check.Equal(1, served.Result);
    });

    [Test("A successor takes a listener over; without a peer an accept ends by its timeout or a cancellation")]
    static void Listeners()
    {
        using (var folder = new Folder())
        using (var old = Listener.Open(folder["c.sock"]))
        {
            Check.Fails(ErrorCode.InUse, () => Listener.Open(folder["c.sock"]));
            Check.Fails(ErrorCode.TimedOut, () => old.AcceptDuplex(null, TimeSpan.FromMilliseconds(20)));
            old.Tend();
            var source = new CancellationTokenSource(20);
            Check.Throws<OperationCanceledException>(() => old.AcceptAsync(ChannelRole.Duplex, null, source.Token).Wait());
            var takeOver = Task.Run(() => Listener.TakeOver(folder["c.sock"], null, Check.Hang));
            Check.Fails(ErrorCode.Closed, () => old.AcceptDuplex(null, Check.Hang));
            using (var listener = takeOver.Result) Check.That(listener.Descriptor() >= 0, "no descriptor");
            Check.Fails(ErrorCode.NoBus, () => Duplex.Connect(folder["nothing.sock"], null, TimeSpan.Zero));
        }
    }
}
