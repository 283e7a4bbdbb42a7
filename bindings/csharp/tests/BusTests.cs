using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Lapwing;

/// <summary>A record of 16 bytes, which contains its number twice.</summary>
struct Pair
{
    internal Pair(ulong number)
    {
        First = number;
        Second = number;
    }

    internal ulong First;
    internal ulong Second;
}

static class BusTests
{
    internal const int RowBytes = 16;

    internal static Publisher PublisherOf(string directory, Action<PublisherOptions> change = null)
    {
        var options = new PublisherOptions { Directory = directory, RecordBytes = RowBytes, Capacity = 4096 };
        change?.Invoke(options);
        return Publisher.Open(options);
    }

    internal static void Publish(Publisher publisher, ulong from, int count)
    {
        var pairs = Enumerable.Range(0, count).Select(index => new Pair(from + (ulong)index)).ToArray();
        Check.Equal(from + (ulong)count - 1, publisher.PublishRecords(pairs, 0, count));
    }

    internal static Subscriber CaughtUp(string directory, WaitStrategy wait = WaitStrategy.Backoff)
    {
        var subscriber = Subscriber.Open(new SubscriberOptions { Directory = directory, Wait = wait });
        using (var batch = new Batch(64, RowBytes))
        {
            do subscriber.Read(batch, Check.Hang);
            while (batch.Event?.Kind != EventKind.CaughtUp);
        }
        return subscriber;
    }

    [Test("The library says its release and its interface")]
    static void Versions()
    {
        Check.That(Library.Release.Split('.').Length == 3, Library.Release);
        Check.Equal(1, Library.Abi.Major);
        Check.Equal("timed-out", Library.NameOf(ErrorCode.TimedOut));
        Check.Equal("unknown", Library.NameOf((ErrorCode)36));
    }

    static string RunWithLibrary(string path)
    {
        var start = new ProcessStartInfo("mono", ExampleTests.PathOf("SquareClient.exe") + " /nowhere 1")
        {
            RedirectStandardError = true, UseShellExecute = false,
        };
        start.EnvironmentVariables["LAPWING_LIBRARY"] = path;
        using (var process = Process.Start(start))
        {
            var said = process.StandardError.ReadToEnd();
            process.WaitForExit();
            Check.That(process.ExitCode != 0, "it ended with 0");
            return said;
        }
    }

    [Test("A library of another interface, and one that is missing, is refused in words")]
    static void OtherLibraries()
    {
        using (var folder = new Folder())
        {
            foreach (var abi in new[] { "0x20000", "0x00009" })
            {
                File.WriteAllText(folder["fake.c"],
                    $"const char *lapwing_version(unsigned *abi) {{ *abi = {abi}; return \"9.9.9\"; }}\n");
                var library = folder[$"lib{abi}.so"];
                using (var compiler = Process.Start("cc",
                    $"-shared -fPIC -Wl,-soname,liblapwing.so.1 -o {library} {folder["fake.c"]}"))
                {
                    compiler.WaitForExit();
                }
                var said = RunWithLibrary(library);
                Check.That(said.Contains("Lapwing 9.9.9 with the C interface") && said.Contains("needs 1.0"), said);
            }
            var missing = RunWithLibrary("/nowhere/liblapwing.so.1");
            Check.That(missing.Contains("/nowhere/liblapwing.so.1 cannot be loaded"), missing);
        }
    }

    [Test("An iteration yields events and records in order, and ends at close")]
    static void Iteration()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        {
            Publish(publisher, 1, 10);
            var options = new SubscriberOptions { Directory = folder["bus"], Start = Start.Oldest, EndAtClose = true };
            using (var subscriber = Subscriber.Open(options))
            {
                var events = new List<EventKind>();
                var numbers = new List<ulong>();
                foreach (var item in subscriber)
                {
                    if (item is Event happened)
                    {
                        events.Add(happened.Kind);
                        if (happened.Kind != EventKind.CaughtUp) continue;
                        Check.Equal("CaughtUp 10", happened.ToString());
                        Publish(publisher, 11, 5);
                        publisher.Close();
                    }
                    else if (item is Records records)
                    {
                        Check.Equal(RowBytes, records.RowBytes);
                        var pairs = records.ToArray<Pair>();
                        for (var i = 0; i < records.Count; ++i)
                        {
                            numbers.Add(records.Sequence(i));
                            Check.Equal(records.Sequence(i), pairs[i].Second);
                        }
                        Check.Throws<ArgumentException>(() => records.ToArray<ulong>());
                    }
                }
                Check.Same(new[] { EventKind.Session, EventKind.CaughtUp, EventKind.Closed }, events);
                Check.Same(Enumerable.Range(1, 15).Select(n => (ulong)n), numbers);
                Check.Equal(15ul, subscriber.Inspect().Last);
            }
        }
    }

    [Test("A batch is filled again and again in the same memory, and copied into structs")]
    static void Batches()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        using (var subscriber = CaughtUp(folder["bus"]))
        using (var batch = new Batch(4, RowBytes, true))
        {
            Publish(publisher, 1, 6);
            subscriber.Read(batch, Check.Hang);
            Check.Equal(BatchKind.Records, batch.Kind);
            Check.Same(new ulong[] { 1, 2, 3, 4 }, batch.Sequences);
            var pairs = new Pair[5];
            Check.Equal(4, batch.CopyTo(pairs, 1));
            Check.Same(new ulong[] { 0, 1, 2, 3, 4 }, pairs.Select(pair => pair.First));
            subscriber.Read(batch, Check.Hang);
            Check.Equal(2, batch.Count);
            Check.Equal(5ul, batch.First);
            Check.Equal(6ul, BitConverter.ToUInt64(batch.Memory, RowBytes));
            Check.Throws<ArgumentOutOfRangeException>(() => batch.Sequence(2));
        }
    }

    [Test("A record is read alone, after the events before it")]
    static void Takes()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        using (var batch = new Batch(1, RowBytes))
        using (var subscriber = Subscriber.Open(new SubscriberOptions { Directory = folder["bus"], Start = Start.Oldest }))
        {
            Publish(publisher, 1, 1);
            var record = new byte[RowBytes];
            Check.Fails(ErrorCode.EventDue, () => subscriber.ReadOne(record, Check.Hang));
            subscriber.Read(batch, Check.Hang);
            Check.Equal(1ul, subscriber.ReadOneAsync(record).Result);
            Check.Equal(1ul, BitConverter.ToUInt64(record, 0));
        }
    }

    [Test("Without records a read fails with would-block, or with timed-out after its timeout")]
    static void Timeouts()
    {
        using (var folder = new Folder())
        using (PublisherOf(folder["bus"]))
        using (var subscriber = CaughtUp(folder["bus"]))
        using (var batch = new Batch(1, RowBytes))
        {
            Check.That(!subscriber.TryRead(batch), "there was a record");
            Check.Fails(ErrorCode.WouldBlock, () => subscriber.Read(batch, TimeSpan.Zero));
            Check.Fails(ErrorCode.TimedOut, () => subscriber.Read(batch, TimeSpan.FromMilliseconds(20)));
            Check.That(!subscriber.TryRead(batch, TimeSpan.FromMilliseconds(20)), "a record came");
        }
    }

    [Test("Items are read one by one with a timeout, rows of any size, and the end is closed")]
    static void TriedItems()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"], options => options.RecordBytes = 128))
        using (var subscriber = Subscriber.Open(new SubscriberOptions { Directory = folder["bus"], EndAtClose = true }))
        {
            Item item;
            do Check.That(subscriber.TryRead(out item, Check.Hang), "nothing came");
            while ((item as Event)?.Kind != EventKind.CaughtUp);
            Check.That(!subscriber.TryRead(out item) && item == null, "there was an item");
            Check.That(!subscriber.TryRead(out item, TimeSpan.FromMilliseconds(20)), "an item came");
            publisher.Publish(new byte[2 * 128]);
            Check.That(subscriber.TryRead(out item, Check.Hang), "no record came");
            Check.Equal(2, ((Records)item).Count);
            publisher.Close();
            Check.That(subscriber.TryRead(out item, Check.Hang) && item is Event, "closed is an event first");
            Check.Fails(ErrorCode.Closed, () => subscriber.TryRead(out item, Check.Hang));
        }
    }

    [Test("A gap is printed as its range, its cause and whether it is filled")]
    static void PrintedGap()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        using (var subscriber = CaughtUp(folder["bus"]))
        {
            for (ulong from = 1; from < 3 * 4096; from += 4096) Publish(publisher, from, 4096);
            Item item;
            Check.That(subscriber.TryRead(out item, Check.Hang), "nothing came");
            var gap = (Event)item;
            Check.Equal(EventKind.Gap, gap.Kind);
            Check.That(gap.ToString().StartsWith($"Gap 1..{gap.Last} Lapped, fillable"), gap.ToString());
        }
    }

    [Test("A cancellation ends an asynchronous read, and the next one is not affected")]
    static void Cancellation()
    {
        foreach (WaitStrategy wait in Enum.GetValues(typeof(WaitStrategy)))
        {
            using (var folder = new Folder())
            using (var publisher = PublisherOf(folder["bus"]))
            using (var subscriber = CaughtUp(folder["bus"], wait))
            using (var batch = new Batch(1, RowBytes))
            {
                var source = new CancellationTokenSource(20);
                Check.Throws<OperationCanceledException>(() => subscriber.ReadAsync(batch, source.Token).Wait());
                Check.Throws<OperationCanceledException>(() => subscriber.ReadAsync(batch, source.Token).Wait());
                var read = subscriber.ReadAsync(batch);
                Publish(publisher, 1, 1);
                Check.That(read.Result == batch, "another batch");
                Check.Equal(1ul, batch.First);
            }
        }
    }

    [Test("A cancellation that came too late does not end the next wait")]
    static void LateCancellation()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        using (var subscriber = CaughtUp(folder["bus"]))
        using (var batch = new Batch(1, RowBytes))
        {
            for (ulong n = 1; n <= 200; ++n)
            {
                var source = new CancellationTokenSource();
                var read = subscriber.ReadAsync(batch, source.Token);
                var cancel = System.Threading.Tasks.Task.Run(() => source.Cancel());
                Publish(publisher, n, 1);
                cancel.Wait();
                try
                {
                    read.Wait();
                }
                catch (AggregateException error) when (error.InnerException is OperationCanceledException)
                {
                    subscriber.Read(batch, Check.Hang);
                }
                Check.Equal(n, batch.First);
            }
        }
    }

    [Test("Interrupt ends the wait under way, or else the next one, once")]
    static void Interrupts()
    {
        using (var folder = new Folder())
        using (PublisherOf(folder["bus"]))
        using (var subscriber = CaughtUp(folder["bus"]))
        using (var batch = new Batch(1, RowBytes))
        {
            var read = subscriber.ReadAsync(batch);
            Thread.Sleep(20);
            subscriber.Interrupt();
            Check.Fails(ErrorCode.Interrupted, () => read.Wait());
            subscriber.Interrupt();
            Check.Fails(ErrorCode.Interrupted, () => subscriber.Read(batch, Check.Hang));
            Check.Fails(ErrorCode.TimedOut, () => subscriber.Read(batch, TimeSpan.FromMilliseconds(20)));
        }
    }

    [Test("A call beside a wait is misuse, and Dispose ends the wait")]
    static void Overlaps()
    {
        using (var folder = new Folder())
        using (PublisherOf(folder["bus"]))
        using (var batch = new Batch(1, RowBytes))
        {
            var subscriber = CaughtUp(folder["bus"], WaitStrategy.Park);
            var read = MisuseTests.Waiting(subscriber, batch);
            Check.Fails(ErrorCode.Misuse, () => subscriber.Inspect());
            subscriber.Dispose();
            Check.Fails(ErrorCode.Interrupted, () => read.Wait());
            Check.Throws<ObjectDisposedException>(() => subscriber.Inspect());
            subscriber.Dispose();
        }
    }

    [Test("A position goes through a cursor, and the next subscriber continues after it")]
    static void Cursors()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        using (var batch = new Batch(4, RowBytes))
        {
            Publish(publisher, 1, 10);
            using (var subscriber = Subscriber.Open(new SubscriberOptions { Directory = folder["bus"], Start = Start.Oldest }))
            using (var cursor = Cursor.Open(folder["cursor"], true))
            {
                do subscriber.Read(batch, Check.Hang);
                while (batch.Kind != BatchKind.Records);
                Check.That(cursor.Last() == null, "something was committed");
                cursor.Commit(subscriber.Position(3), 48, 2);
                Check.Fails(ErrorCode.InUse, () => Cursor.Open(folder["cursor"], false, TimeSpan.Zero));
            }
            using (var cursor = Cursor.Open(folder["cursor"]))
            {
                var last = cursor.Last();
                Check.Equal(48ul, last.OutputBytes);
                Check.Equal(2ul, last.OutputFile);
                var stored = new Position(
                    Id.Parse(last.Position.JournalId.ToString()), Id.Parse(last.Position.SessionId.ToString()),
                    last.Position.Sequence);
                Check.Equal(last.Position.JournalId, stored.JournalId);
                var options = new SubscriberOptions { Directory = folder["bus"], Start = Start.After(stored) };
                using (var subscriber = Subscriber.Open(options))
                {
                    do subscriber.Read(batch, Check.Hang);
                    while (batch.Kind != BatchKind.Records);
                    Check.Equal(4ul, batch.First);
                }
            }
        }
    }

    [Test("A row that does not fit is reported with its size, and nothing is consumed")]
    static void TooSmall()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        using (var subscriber = CaughtUp(folder["bus"]))
        using (var small = new Batch(new byte[RowBytes - 1]))
        using (var batch = new Batch(1, RowBytes))
        {
            Publish(publisher, 1, 1);
            Check.Equal(RowBytes, Check.Fails(ErrorCode.TooSmall, () => subscriber.Read(small, Check.Hang)).RowBytes);
            subscriber.Read(batch, Check.Hang);
            Check.Equal(1ul, batch.First);
        }
    }

    [Test("What is published is flushed, and a second publisher of the bus is refused")]
    static void Flushes()
    {
        using (var folder = new Folder())
        using (var publisher = PublisherOf(folder["bus"]))
        {
            Publish(publisher, 1, 3);
            Check.Equal(3ul, publisher.FlushAsync().Result);
            var info = publisher.Inspect();
            Check.Equal(3ul, info.Head);
            Check.Equal(Settled.Fresh, info.Settled);
            Check.Equal(JournalState.Good, info.JournalState);
            var error = Check.Fails(ErrorCode.InUse, () =>
                Publisher.Open(new PublisherOptions { Directory = folder["bus"] }, TimeSpan.Zero));
            Check.Equal("in-use", error.Name);
            Check.That(error.Message.Length > error.Name.Length, error.Message);
            Check.Fails(ErrorCode.RecordSize, () => publisher.Publish(new byte[8], 0, 8, null, 8));
            Check.Throws<ArgumentException>(() => publisher.Publish(new byte[RowBytes + 1]));
            publisher.CloseAsync().Wait();
            Check.Equal(0ul, Check.Fails(ErrorCode.Closed, () => publisher.Publish(new byte[RowBytes])).LastPublished);
        }
    }

    sealed class Warnings : TraceListener
    {
        internal readonly List<string> Lines = new List<string>();

        public override void Write(string message) { }

        public override void WriteLine(string message)
        {
            lock (Lines) Lines.Add(message);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Forget(string directory)
    {
        for (var i = 0; i < 50; ++i) Subscriber.Open(new SubscriberOptions { Directory = directory });
    }

    [Test("A handle that is forgotten is destroyed, with a warning")]
    static void Forgotten()
    {
        using (var folder = new Folder())
        {
            var warnings = new Warnings();
            Trace.Listeners.Add(warnings);
            Forget(folder["bus"]);
            for (var i = 0; i < 100 && warnings.Lines.Count == 0; ++i)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                Thread.Sleep(10);
            }
            Trace.Listeners.Remove(warnings);
            Check.That(warnings.Lines.Any(line => line.Contains("Subscriber was garbage-collected")), "no warning");
        }
    }
}
