// Misuse must not corrupt memory or affect the other side.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using Lapwing;

static class MisuseTests
{
    const int Threads = 4;
    const int Rounds = 100;
    const int BlockBytesMin = 512;
    const int BlockBytesMax = 1024;
    const byte Filling = 0xaa;

    struct Named
    {
        internal string Name;
        internal ulong Number;
    }

    struct Wrapped
    {
        internal Named Inner;
    }

    struct Letter
    {
        internal ulong Number;
        internal char First, Second, Third, Fourth;
    }

    /// <summary>Starts a read, and returns when it uses the batch and has had time to start waiting.</summary>
    internal static Task Waiting(Subscriber subscriber, Batch batch)
    {
        var state = typeof(Batch).GetField("state", BindingFlags.Instance | BindingFlags.NonPublic);
        var read = subscriber.ReadAsync(batch);
        Check.That(SpinWait.SpinUntil(() => (int)state.GetValue(batch) != 0, Check.Hang), "it does not begin");
        Thread.Sleep(20);
        return read;
    }

    /// <summary>
    /// Allocates and fills blocks of many sizes, so that recently freed memory of these sizes is among them.
    /// </summary>
    static Dictionary<IntPtr, int> Blocks()
    {
        var blocks = new Dictionary<IntPtr, int>();
        for (var bytes = BlockBytesMin; bytes <= BlockBytesMax; bytes += 8)
        {
            var block = Marshal.AllocHGlobal(bytes);
            for (var i = 0; i < bytes; ++i) Marshal.WriteByte(block, i, Filling);
            blocks.Add(block, bytes);
        }
        return blocks;
    }

    static bool IsUntouched(KeyValuePair<IntPtr, int> block) =>
        Enumerable.Range(0, block.Value).All(i => Marshal.ReadByte(block.Key, i) == Filling);

    [Test("A batch that is disposed of while a read fills it in keeps its memory until the read returns")]
    static void DisposedBatch()
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"]))
        using (var subscriber = BusTests.CaughtUp(folder["bus"]))
        using (var next = new Batch(1, BusTests.RowBytes))
        {
            var batch = new Batch(1, BusTests.RowBytes);
            var memory = batch.Memory;
            var read = Waiting(subscriber, batch);
            batch.Dispose();
            batch.Dispose();
            var blocks = Blocks();
            BusTests.Publish(publisher, 1, 2);
            read.Wait();
            Check.Equal(1ul, BitConverter.ToUInt64(memory, 0));
            Check.That(blocks.All(IsUntouched), "the read has written to memory that was freed");
            foreach (var block in blocks) Marshal.FreeHGlobal(block.Key);
            Check.Throws<ObjectDisposedException>(() => batch.Count.ToString());
            Check.Throws<ObjectDisposedException>(() => subscriber.Read(batch, TimeSpan.Zero));
            subscriber.Read(next, Check.Hang);
            Check.Equal(2ul, next.First);
        }
    }

    [Test("A batch that a read fills in is refused by another call, and used on after it")]
    static void SharedBatch()
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"]))
        using (var subscriber = BusTests.CaughtUp(folder["bus"]))
        using (var other = BusTests.CaughtUp(folder["bus"]))
        using (var batch = new Batch(1, BusTests.RowBytes))
        using (var books = new Books())
        {
            var read = Waiting(subscriber, batch);
            var error = Check.Fails(ErrorCode.Misuse, () => other.Read(batch, TimeSpan.Zero));
            Check.That(error.Message.Contains("another call uses this batch"), error.Message);
            Check.Fails(ErrorCode.Misuse, () => books.Take(batch));
            BusTests.Publish(publisher, 1, 1);
            read.Wait();
            other.Read(batch, Check.Hang);
            Check.Equal(1ul, batch.First);
        }
    }

    [Test("An option that cannot be is refused, and the error says what it can be")]
    static void WrongOptions()
    {
        Action<string, Action> invalid = (words, action) =>
        {
            var error = Check.Fails(ErrorCode.InvalidArgument, action);
            Check.That(error.Message.Contains(words), error.Message);
        };
        using (var folder = new Folder())
        using (var books = new Books())
        {
            Action<Action<PublisherOptions>> publisher = change => BusTests.PublisherOf(folder["bus"], change).Dispose();
            invalid("OnJournalLag is 7; it can be: Wait, Shed", () => publisher(options => options.OnJournalLag = (OnJournalLag)7));
            invalid("OnJournalLag is 0; it can be", () => publisher(options => options.OnJournalLag = 0));
            invalid("OnJournalFailure is 7; it can be: Continue, Stop", () => publisher(options => options.OnJournalFailure = (OnJournalFailure)7));
            invalid("RecordBytes is -1", () => publisher(options => options.RecordBytes = -1));
            invalid("Capacity is -1", () => publisher(options => options.Capacity = -1));
            invalid("SegmentBytes is -1", () => publisher(options => options.SegmentBytes = -1));
            var negative = TimeSpan.FromSeconds(-1);
            invalid("SyncInterval is -00:00:01", () => publisher(options => options.SyncInterval = negative));
            invalid("RetainAge is -00:00:01", () => publisher(options => options.RetainAge = negative));
            invalid("sync_interval", () => publisher(options => options.SyncInterval = TimeSpan.Zero));
            Check.That(!System.IO.Directory.Exists(folder["bus"]), "nothing was made");
            publisher(options => options.SyncInterval = options.RetainAge = Timeout.InfiniteTimeSpan);

            Action<Action<SubscriberOptions>> subscriber = change =>
            {
                var options = new SubscriberOptions { Directory = folder["bus"] };
                change(options);
                Subscriber.Open(options).Dispose();
            };
            invalid("OnGap is 9; it can be: Fill, Skip, Stop, Snapshot", () => subscriber(options => options.OnGap = (OnGap)9));
            invalid("Wait is 9; it can be: Busy, Backoff, Park", () => subscriber(options => options.Wait = (WaitStrategy)9));
            invalid("BehindRecords is -1", () => subscriber(options => options.BehindRecords = -1));
            invalid("ConflateKeysMax is -1", () => subscriber(options => options.ConflateKeysMax = -1));
            invalid("Reattach is", () => subscriber(options => options.Reattach = negative));
            invalid("FlushTimeout is", () => subscriber(options => options.FlushTimeout = negative));
            invalid("StaleAfter is", () => subscriber(options => options.StaleAfter = negative));
            invalid("BehindTime is", () => subscriber(options => options.BehindTime = negative));
            invalid("ConflateInterval is", () => subscriber(options => options.ConflateInterval = negative));
            invalid("ConflateInterval is", () => subscriber(options => options.ConflateInterval = Timeout.InfiniteTimeSpan));
            invalid("MeasureEvery is -1", () => subscriber(options => options.MeasureEvery = -1));
            invalid("stale_after", () => subscriber(options => options.StaleAfter = TimeSpan.Zero));
            invalid("behind_time", () => subscriber(options => options.BehindTime = TimeSpan.Zero));
            subscriber(options => options.Reattach = options.FlushTimeout = options.StaleAfter = options.BehindTime =
                Timeout.InfiniteTimeSpan);

            Action<Action<ChannelOptions>> channel = change =>
            {
                var options = new ChannelOptions();
                change(options);
                Producer.Connect(folder["none"], options, TimeSpan.Zero).Dispose();
            };
            invalid("Wait is 9; it can be: Busy, Backoff, Park", () => channel(options => options.Wait = (WaitStrategy)9));
            invalid("Capacity is -1", () => channel(options => options.Capacity = -1));
            invalid("MessageBytesMax is -1", () => channel(options => options.MessageBytesMax = -1));
            invalid("CallWindow is -1", () => channel(options => options.CallWindow = -1));
            invalid("Retry is", () => channel(options => options.Retry = negative));

            invalid("side is 7; it can be: Ask, Bid", () => books.Levels(RecordTests.Key, (Side)7));
            invalid("side is 7; it can be: Ask, Bid", () => books.Orders(RecordTests.Key, (Side)7, 0));
            invalid("max is -1", () => books.Levels(RecordTests.Key, Side.Bid, 0, -1));
            invalid("begin is -1", () => books.Levels(RecordTests.Key, Side.Bid, -1));
            invalid("level is -1", () => books.Orders(RecordTests.Key, Side.Bid, -1));
        }
    }

    [Test("A publisher waits by default for the one before it to end")]
    static void DefaultWait()
    {
        using (var folder = new Folder())
        {
            var first = BusTests.PublisherOf(folder["bus"]);
            var second = System.Threading.Tasks.Task.Run(() => BusTests.PublisherOf(folder["bus"]));
            // A call that does not wait would have failed by then.
            Check.That(!((System.IAsyncResult)second).AsyncWaitHandle.WaitOne(300), "it did not wait");
            first.Dispose();
            second.Result.Dispose();
            var cursor = Cursor.Open(folder["cursor"]);
            var other = System.Threading.Tasks.Task.Run(() => Cursor.Open(folder["cursor"]));
            Check.That(!((System.IAsyncResult)other).AsyncWaitHandle.WaitOne(100), "it did not wait");
            cursor.Dispose();
            other.Result.Dispose();
        }
    }

    [Test("Structs with references, and with members of another size outside, are no records")]
    static void NoRecords()
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"]))
        using (var subscriber = BusTests.CaughtUp(folder["bus"]))
        using (var batch = new Batch(1, BusTests.RowBytes))
        {
            BusTests.Publish(publisher, 1, 1);
            subscriber.Read(batch, Check.Hang);
            var error = Check.Throws<ArgumentException>(() => batch.CopyTo(new Named[1]));
            Check.That(error.Message.Contains("Named has a field that is not a number"), error.Message);
            Check.Throws<ArgumentException>(() => batch.CopyTo(new Wrapped[1]));
            Check.Throws<ArgumentException>(() => batch.CopyTo(new Letter[1]));
            Check.Throws<ArgumentException>(() => publisher.PublishRecords(new Named[1], 0, 1));
            Check.Equal(1ul, publisher.Inspect().Head);
        }
    }

    [Test("Many threads dispose of an object that waits, and interrupt it: the wait ends and nothing fails")]
    static void ManyDispose()
    {
        using (var folder = new Folder())
        using (BusTests.PublisherOf(folder["bus"]))
        using (var batch = new Batch(1, BusTests.RowBytes))
        {
            for (var round = 0; round < Rounds; ++round)
            {
                var subscriber = BusTests.CaughtUp(folder["bus"], WaitStrategy.Park);
                var read = subscriber.ReadAsync(batch);
                var start = new ManualResetEventSlim();
                var others = Enumerable.Range(0, Threads).Select(index => Task.Factory.StartNew(() =>
                {
                    start.Wait();
                    if (index % 2 == 0) subscriber.Interrupt();
                    subscriber.Dispose();
                }, TaskCreationOptions.LongRunning)).ToArray();
                start.Set();
                Task.WaitAll(others);
                var error = Check.Throws<Exception>(() => read.Wait());
                var reason = error is AggregateException ? error.InnerException : error;
                Check.That(reason is ObjectDisposedException || reason is LapwingException, reason.ToString());
            }
        }
    }

    [Test("A program ends while a thread waits without end")]
    static void EndsInWait()
    {
        using (var folder = new Folder())
        using (BusTests.PublisherOf(folder["bus"]))
        {
            var start = new ProcessStartInfo("mono", ExampleTests.PathOf("driver.exe"))
            {
                RedirectStandardInput = true, UseShellExecute = false, WorkingDirectory = folder.Path,
            };
            using (var driver = Process.Start(start))
            {
                driver.StandardInput.WriteLine("misuse.exit-in-wait directory=bus");
                driver.StandardInput.Flush();
                var hasEnded = driver.WaitForExit((int)Check.Hang.TotalMilliseconds);
                if (!hasEnded) driver.Kill();
                Check.That(hasEnded, "it did not end");
                Check.Equal(7, driver.ExitCode);
            }
        }
    }

    [Test("A view of a message ends with its consumer, after Dispose and not after Close")]
    static unsafe void ViewsOfMessages() => ChannelTests.WithMessages((producer, consumer) =>
    {
        producer.Send(new Message(1, new byte[8]));
        var view = consumer.UnsafePeek(1, Check.Hang).Single();
        consumer.Close();
        Check.Equal((byte)0, view.Payload[0]);
        consumer.Dispose();
        Check.That(!view.IsLive, "it is live");
        Check.Throws<ObjectDisposedException>(() => view.Payload[0].ToString());
    });
}
