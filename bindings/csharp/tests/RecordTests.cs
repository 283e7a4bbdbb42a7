using System;
using System.Linq;
using System.Runtime.InteropServices;
using Lapwing;

static class RecordTests
{
    const string SignalSchema = @"{""name"":""desk.signal"",""version"":3,""record_bytes"":32,""fields"":[
        {""name"":""ts"",""type"":""uint64"",""offset"":0,""unit"":""utc_ns"",""role"":""time""},
        {""name"":""instrument_id"",""type"":""uint32"",""offset"":8,""role"":""key""},
        {""name"":""weight"",""type"":""float32"",""offset"":12},
        {""name"":""side"",""type"":""char"",""offset"":16},
        {""name"":""venue"",""type"":""text"",""offset"":17,""bytes"":7},
        {""name"":""price"",""type"":""int64"",""offset"":24,""unit"":""price""}]}";

    [StructLayout(LayoutKind.Sequential)]
    unsafe struct Signal
    {
        internal ulong Ts;
        internal uint InstrumentId;
        internal float Weight;
        internal byte Side;
        internal fixed byte Venue[7];
        internal long Price;
    }

    [StructLayout(LayoutKind.Sequential)]
    unsafe struct Swapped
    {
        internal ulong Ts;
        internal float Weight;
        internal uint InstrumentId;
        internal byte Side;
        internal fixed byte Venue[7];
        internal long Price;
    }

    internal static readonly BookKey Key = new BookKey(1, 7);

    [StructLayout(LayoutKind.Sequential, Pack = 1)]
    internal struct Mbo
    {
        internal byte Length, Rtype;
        internal ushort PublisherId;
        internal uint InstrumentId;
        internal ulong TsEvent, OrderId;
        internal long Price;
        internal uint Size;
        internal byte Flags, ChannelId, Action, Side;
        internal ulong TsRecv;
        internal int TsInDelta;
        internal uint Sequence;
    }

    /// <summary>
    /// Creates orders for one book from texts "SIDE QUARTERS SIZE", where the price is 100 + QUARTERS / 4.
    /// </summary>
    internal static Mbo[] Orders(params string[] orders) =>
        orders.Select(order => order.Split(' ')).Select((words, index) => new Mbo
        {
            Length = 14, Rtype = 160, PublisherId = 1, InstrumentId = 7, TsEvent = 1, OrderId = (ulong)index + 1,
            Price = 100000000000 + long.Parse(words[1]) * 250000000, Size = uint.Parse(words[2]), Flags = 0x80,
            Action = (byte)'A', Side = (byte)words[0][0], TsRecv = 1,
        }).ToArray();

    [Test("A struct of the program's own is checked against the schema of its bus, and copied by columns")]
    static void Described()
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"], options =>
        {
            options.RecordBytes = 0;
            options.Schema = SignalSchema;
        }))
        {
            var schema = Schema.OfBus(folder["bus"]);
            Check.Equal("desk.signal", schema.Name);
            Check.Equal(3, schema.Version);
            Check.Equal(32, schema.RecordBytes);
            Check.Equal(FieldUnit.Price, schema.Field("price").Unit);
            Check.Equal(FieldRole.Key, schema.Field("instrument_id").Role);
            schema.Check<Signal>();
            var error = Check.Throws<ArgumentException>(schema.Check<Swapped>);
            Check.That(error.Message.Contains("Swapped is not a record of desk.signal: InstrumentId is at 12, and instrument_id at 8"), error.Message);

            var signals = Enumerable.Range(0, 3).Select(n => new Signal
            {
                Ts = ulong.MaxValue, InstrumentId = (uint)n, Weight = 0.5f, Side = (byte)'B', Price = -n,
            }).ToArray();
            Check.Equal(3ul, publisher.PublishRecords(signals, 0, 3));
            using (var subscriber = Subscriber.Open(new SubscriberOptions
            {
                Directory = folder["bus"], Start = Start.Oldest, Expect = schema,
            }))
            using (var batch = new Batch(8, 32))
            {
                do subscriber.Read(batch, Check.Hang);
                while (batch.Kind != BatchKind.Records);
                var prices = new long[8];
                Check.Equal(3, schema.Column(batch, "price", prices));
                Check.Same(new long[] { 0, -1, -2 }, prices.Take(3));
                var sides = new byte[3];
                schema.Column(batch, "side", sides);
                Check.Same(new[] { (byte)'B', (byte)'B', (byte)'B' }, sides);
                Check.Throws<ArgumentException>(() => schema.Column(batch, "price", new double[8]));
                Check.Throws<ArgumentException>(() => schema.Column(batch, "nothing", prices));
                Check.Equal(0.5f, (float)schema.Value(batch.Memory, 1, "weight"));
                Check.Equal("", (string)schema.Value(batch.Memory, 1, "venue"));
                Check.Equal(1u, (uint)schema.Value(batch.Memory, 1, "instrument_id"));
                Check.Equal("desk.signal", subscriber.Inspect().SchemaName);
            }
        }
    }

    [Test("A publisher takes the schema of another bus, as an object, and events and infos have its name")]
    static void SchemaOfAnother()
    {
        using (var folder = new Folder())
        using (BusTests.PublisherOf(folder["bus"], options =>
        {
            options.RecordBytes = 0;
            options.Schema = SignalSchema;
        }))
        using (var publisher = BusTests.PublisherOf(folder["copy"], options =>
        {
            options.RecordBytes = 0;
            options.Schema = Schema.OfBus(folder["bus"]);
        }))
        using (var subscriber = Subscriber.Open(new SubscriberOptions
        {
            Directory = folder["copy"], Start = Start.Oldest, Expect = Schema.OfBus(folder["bus"]),
        }))
        using (var history = History.Open(folder["copy"]))
        using (var batch = new Batch(8, 32))
        {
            Check.Equal(Schema.OfBus(folder["bus"]).Hash, Schema.OfBus(folder["copy"]).Hash);
            Check.Equal(32, publisher.RecordBytes);
            subscriber.Read(batch, Check.Hang);
            Check.Equal(EventKind.Session, batch.Event.Kind);
            Check.Equal("desk.signal", batch.Event.SchemaName);
            Check.Equal("desk.signal", history.Inspect().SchemaName);
        }
        Check.That((string)(Schema)null == null, "a missing schema has a text");
    }

    [StructLayout(LayoutKind.Sequential)]
    unsafe struct Earlier
    {
        internal ulong Ts;
        internal uint InstrumentId;
        internal float Weight;
        internal byte Side;
        internal fixed byte Venue[7];
        internal long SpareForLater;
    }

    [Test("Structs of other fields are refused by name: when they are published, and when rows become structs")]
    static void OtherStructs()
    {
        const string moved = "Swapped is not a record of desk.signal: InstrumentId is at 12, and instrument_id at 8";
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"], options =>
        {
            options.RecordBytes = 0;
            options.Schema = SignalSchema;
        }))
        {
            var error = Check.Fails(ErrorCode.RecordSize, () => publisher.PublishRecords(new Swapped[2], 0, 2));
            Check.That(error.Message.Contains(moved), error.Message);
            error = Check.Fails(ErrorCode.RecordSize, () => publisher.PublishRecords(new Earlier[2], 0, 2));
            Check.That(error.Message.Contains("it has no price"), error.Message);
            Check.Equal(0ul, publisher.Inspect().Head);
            Check.Equal(2ul, publisher.PublishRecords(new Signal[2], 0, 2));
            Check.Fails(ErrorCode.RecordSize, () => publisher.PublishRecords(new Swapped[2], 0, 2));
            publisher.Flush(Check.Hang);

            using (var subscriber = Subscriber.Open(new SubscriberOptions { Directory = folder["bus"], Start = Start.Oldest }))
            using (var history = History.Open(folder["bus"]))
            using (var batch = new Batch(8, 32))
            {
                Action refused = () =>
                {
                    var found = Check.Fails(ErrorCode.RecordSize, () => batch.CopyTo(new Swapped[8]));
                    Check.That(found.Message.Contains(moved), found.Message);
                    Check.Equal(2, batch.CopyTo(new Signal[8]));
                    Check.Equal(2, batch.CopyTo(new Earlier[8])); // the later version uses this struct's spare bytes
                };
                do subscriber.Read(batch, Check.Hang);
                while (batch.Kind != BatchKind.Records);
                refused();
                using (var items = Subscriber.Open(new SubscriberOptions { Directory = folder["bus"], Start = Start.Oldest }))
                {
                    var records = items.OfType<Records>().First();
                    Check.Equal(2, records.ToArray<Signal>().Length);
                    error = Check.Fails(ErrorCode.RecordSize, () => records.ToArray<Swapped>());
                    Check.That(error.Message.Contains(moved), error.Message);
                }
                history.Read(1, batch);
                refused();
                using (BusTests.PublisherOf(folder["other"], options =>
                {
                    options.RecordBytes = 0;
                    options.Schema = SignalSchema.Replace("weight", "strength");
                }))
                {
                    var schema = Schema.OfBus(folder["other"]);
                    Check.Equal(2, schema.Column(batch, "price", new long[8]));
                    error = Check.Fails(ErrorCode.RecordSize, () => schema.Column(batch, "strength", new float[8]));
                    Check.That(error.Message.Contains("the records are desk.signal, which has no strength"), error.Message);
                }
            }
        }
    }

    struct OldPair
    {
        internal ulong First, Old;
    }

    struct RenamedPair
    {
        internal ulong First, Renamed;
    }

    /// <summary>Creates a closed bus of 16-byte records whose second field has the name `second`.</summary>
    static void PublishPair(string directory, string second)
    {
        using (var publisher = BusTests.PublisherOf(directory, options =>
        {
            options.RecordBytes = 0;
            options.Schema = @"{""name"":""desk.pair"",""version"":1,""record_bytes"":16,""fields"":[
                {""name"":""first"",""type"":""uint64"",""offset"":0},
                {""name"":""" + second + @""",""type"":""uint64"",""offset"":8}]}";
        }))
        {
            publisher.Publish(new byte[16]);
            publisher.Close();
        }
    }

    static void ReadTo(Subscriber subscriber, Batch batch, EventKind kind)
    {
        do subscriber.Read(batch, Check.Hang);
        while (batch.Event?.Kind != kind);
    }

    [Test("A bus that was replaced has its own schema, also of the same name and size")]
    static void Replaced()
    {
        using (var folder = new Folder())
        using (var delivered = new Batch(8, 16))
        using (var batch = new Batch(8, 16))
        {
            PublishPair(folder["bus"], "old");
            var subscriber = Subscriber.Open(new SubscriberOptions { Directory = folder["bus"], Start = Start.Oldest });
            Check.Fails(ErrorCode.Misuse, () => subscriber.Schema());
            ReadTo(subscriber, batch, EventKind.Session);
            subscriber.Read(delivered, Check.Hang);
            Check.Equal(1, delivered.Count);
            ReadTo(subscriber, batch, EventKind.Closed);
            System.IO.Directory.Delete(folder["bus"], true);
            PublishPair(folder["bus"], "renamed");
            // The schema on disk now differs from that of the delivered records.
            Check.Equal("old", subscriber.Schema().Fields[1].Name);
            Check.Equal(1, delivered.CopyTo(new OldPair[1]));
            Check.Fails(ErrorCode.RecordSize, () => delivered.CopyTo(new RenamedPair[1]));
            ReadTo(subscriber, batch, EventKind.Reset);
            Check.Equal("renamed", subscriber.Schema().Fields[1].Name);
            subscriber.Read(batch, Check.Hang);
            subscriber.Dispose();
            Check.Equal(1, batch.CopyTo(new RenamedPair[1]));
            Check.Fails(ErrorCode.RecordSize, () => batch.CopyTo(new OldPair[1]));
            Check.Fails(ErrorCode.RecordSize, () => delivered.CopyTo(new RenamedPair[1]));
        }
    }

    [Test("Ages are measured of the records that were chosen")]
    static void MeasuresAges()
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"], options =>
        {
            options.RecordBytes = 0;
            options.SchemaName = "dbn.mbo";
            options.Restamped = true;
        }))
        using (var subscriber = Subscriber.Open(new SubscriberOptions
        {
            Directory = folder["bus"], Start = Start.Oldest, MeasureEvery = 1, Observes = true,
        }))
        using (var batch = new Batch(8, 56))
        {
            Check.That(subscriber.Ages() == null, "nothing was read");
            publisher.PublishRecords(Orders("B -1 5", "B -1 3"), 0, 2);
            do subscriber.Read(batch, Check.Hang);
            while (batch.Kind != BatchKind.Records);
            var ages = subscriber.Ages();
            Check.Equal(2ul, ages.Count);
            Check.Equal(0ul, ages.Negative + ages.Unstamped);
            Check.That(ages.P50Ns > 0 && ages.P50Ns <= ages.MaxNs, $"{ages.P50Ns} {ages.MaxNs}");
        }
    }

    [Test("A bus without a schema takes every struct of its size")]
    static void NotDescribed()
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"], options => options.RecordBytes = 32))
        {
            publisher.PublishRecords(new Swapped[1], 0, 1);
            Check.Equal(2ul, publisher.PublishRecords(new Signal[1], 0, 1));
        }
    }

    [Test("The schemas that Lapwing ships are known by name")]
    static void Shipped()
    {
        Schema.Named("dbn.mbo").Check<Mbo>();
        Check.That(Schema.Named("dbn.mbo").Hash != Schema.Named("kv16").Hash, "equal hashes");
        Check.Fails(ErrorCode.NotFound, () => Schema.Named("dbn.nothing"));
    }

    static void WithBook(Action<Books> check)
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["bus"], options =>
        {
            options.RecordBytes = 0;
            options.SchemaName = "dbn.mbo";
        }))
        using (var books = new Books())
        {
            publisher.PublishRecords(Orders("B -1 5", "B -1 3", "B -2 4", "A 2 9"), 0, 4);
            publisher.Close();
            var options = new SubscriberOptions { Directory = folder["bus"], Start = Start.Oldest, EndAtClose = true };
            using (var subscriber = Subscriber.Open(options))
            {
                foreach (var item in subscriber)
                {
                    books.Take(item);
                    if (item is Records) Check.Fails(ErrorCode.Misuse, () => books.Take(item));
                }
            }
            check(books);
        }
    }

    [Test("Books are built from items: tops, levels, orders; a batch is refused twice")]
    static void TakesItems() => WithBook(books =>
    {
        Check.Same(new[] { Key }, books.List());
        var book = books.Find(Key);
        Check.Equal(99750000000, book.Bid.Price);
        Check.Equal(8ul, book.Bid.Size);
        Check.Equal(2u, book.Bid.Orders);
        Check.Equal(100500000000, book.Ask.Price);
        Check.That(book.IsSettled && !book.IsStale, "within an event");
        Check.Equal(4ul, book.Sequence);
        Check.Equal("9 1, 4 orders, 2:1 levels",
            $"{book.Ask.Size} {book.Ask.Orders}, {book.Orders} orders, {book.BidLevels}:{book.AskLevels} levels");
        Check.Same(new ulong[] { 8, 4 }, books.Levels(Key, Side.Bid).Select(level => level.Size));
        Check.Same(new[] { "99500000000 4 1" },
            books.Levels(Key, Side.Bid, 1, 1).Select(level => $"{level.Price} {level.Size} {level.Orders}"));
        Check.Same(new[] { "1 5", "2 3" },
            books.Orders(Key, Side.Bid, 0).Select(order => $"{order.OrderId} {order.Size}"));
        Check.Fails(ErrorCode.NotFound, () => books.Orders(Key, Side.Ask, 1));
        Check.That(books.Find(new BookKey(1, 8)) == null, "a book of no instrument");
        Check.Equal(4L, books.Inspect().Orders);
    });

    [Test("The journal is read and mapped by sequence, also without a publisher")]
    static unsafe void Histories()
    {
        const int rows = 100000; // more than fit into a segment
        using (var folder = new Folder())
        {
            using (var publisher = BusTests.PublisherOf(folder["bus"], options =>
            {
                options.SegmentBytes = 1 << 20;
                options.Capacity = 1 << 17;
            }))
            {
                for (var from = 1; from <= rows; from += 10000) BusTests.Publish(publisher, (ulong)from, 10000);
                publisher.Close();
            }
            HistoryView view;
            using (var history = History.Open(folder["bus"]))
            using (var batch = new Batch(3, BusTests.RowBytes))
            {
                Check.Equal((ulong)rows, history.Inspect().Archived);
                history.Read(7, batch);
                Check.Equal(9ul, BitConverter.ToUInt64(batch.Memory, 2 * BusTests.RowBytes));
                Check.That(history.FindTime(0) >= 1, "no sequence");
                Check.Fails(ErrorCode.WouldBlock, () => history.Read(rows + 1, batch));
                view = history.Map(2, rows);
            }
            using (view) // outlives the history
            {
                Check.Equal(2ul, view.First);
                Check.That(view.Count > 0 && view.Count < rows, $"{view.Count} rows");
                var copy = new byte[3 * BusTests.RowBytes];
                view.CopyRows(5, 3, copy);
                Check.Equal(9ul, BitConverter.ToUInt64(copy, 2 * BusTests.RowBytes));
                Check.Equal(7ul, *(ulong*)view.UnsafeRow(5));
                Check.Throws<ArgumentOutOfRangeException>(() => view.CopyRows(view.Count, 1, copy));
            }
            Check.Throws<ObjectDisposedException>(() => view.CopyRows(0, 1, new byte[BusTests.RowBytes]));
        }
    }
}
