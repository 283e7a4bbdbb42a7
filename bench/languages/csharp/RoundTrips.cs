// Records and messages to another process and back: the rates echo to channel-ping.
using System;
using Lapwing;

static class RoundTrips
{
    const int Capacity = 4096;
    const int RowBytes = 56;
    const int MessageBytes = 32;
    const uint MessageType = 1;
    const int BlockTrips = 1000;
    const string TripFormat = "F1"; // format of ns per round trip

    static readonly TimeSpan patience = TimeSpan.FromSeconds(10); // maximum wait for the peer

    /// <summary>A subscriber whose publisher has started.</summary>
    static Subscriber Attached(string directory, Batch batch)
    {
        var options = Rates.OptionsOf(directory);
        options.Reattach = patience;
        options.EndAtClose = true;
        var subscriber = Subscriber.Open(options);
        subscriber.Read(batch);
        return subscriber;
    }

    static string WithBuses(Step step, Func<Action, Action, string> use)
    {
        var record = new byte[RowBytes];
        using (var batch = new Batch(new byte[0]))
        using (var publisher = Rates.PublisherOf(step.Text("out"), Capacity))
        using (var subscriber = Attached(step.Text("in"), batch))
        {
            return use(() => publisher.Publish(record), () => Rates.TakeNext(subscriber, record, batch));
        }
    }

    static string Repeat(long count, Action first, Action second)
    {
        for (; count > 0; --count)
        {
            first();
            second();
        }
        return "";
    }

    /// <summary>Blocks of trips. If there are several, the first one is not counted.</summary>
    static string Timed(long count, Action send, Action receive)
    {
        var block = Math.Min(count, BlockTrips);
        var passes = new Passes();
        for (long done = 0; done < count; done += block)
        {
            var trips = Math.Min(block, count - done);
            passes.Add(() => Repeat(trips, send, receive), trips == block && (done > 0 || count < 2 * block));
        }
        return passes.Each(block, TripFormat);
    }

    internal static string Echo(Step step) =>
        WithBuses(step, (publish, take) => Repeat((long)step.Number("count"), take, publish));

    internal static string Ping(Step step) =>
        WithBuses(step, (publish, take) => Timed((long)step.Number("count"), publish, take));

    static ChannelOptions Busy => new ChannelOptions { Wait = WaitStrategy.Busy, Retry = patience };

    static unsafe void Send(Producer producer, byte* payload)
    {
        Buffer.MemoryCopy(payload, producer.Claim(MessageBytes), MessageBytes, MessageBytes);
        producer.Commit(MessageBytes, MessageType);
    }

    static unsafe void SendBack(Consumer consumer, Producer producer)
    {
        using (var message = consumer.UnsafePeek(1)[0]) Send(producer, message.Payload);
        consumer.Release(1);
    }

    static unsafe void Receive(Consumer consumer, byte* into)
    {
        using (var message = consumer.UnsafePeek(1)[0])
        {
            Buffer.MemoryCopy(message.Payload, into, MessageBytes, MessageBytes);
        }
        consumer.Release(1);
    }

    internal static string ChannelEcho(Step step)
    {
        using (var listener = Listener.Open(step.Text("path")))
        using (var consumer = listener.AcceptConsumer(Busy, patience))
        using (var producer = listener.AcceptProducer(Busy, patience))
        {
            for (var left = step.Number("count"); left > 0; --left) SendBack(consumer, producer);
            try
            {
                producer.Drain(patience);
            }
            catch (LapwingException)
            {
                // The other side has ended after receiving everything.
            }
            return "";
        }
    }

    internal static unsafe string ChannelPing(Step step)
    {
        var path = step.Text("path");
        var message = stackalloc byte[MessageBytes];
        var at = (IntPtr)message;
        using (var producer = Producer.Connect(path, Busy, patience))
        using (var consumer = Consumer.Connect(path, Busy, patience))
        {
            return Timed((long)step.Number("count"),
                () => Send(producer, (byte*)at), () => Receive(consumer, (byte*)at));
        }
    }
}
