// The rates of the package. See README.md in the parent folder.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Lapwing;

/// <summary>Times of passes, except the first.</summary>
sealed class Passes
{
    readonly List<double> ns = new List<double>();

    /// <summary>Bytes that the runtime allocated in these passes.</summary>
    internal long Garbage { get; private set; }

    internal double MedianNs
    {
        get
        {
            var sorted = ns.OrderBy(one => one).ToArray();
            var middle = sorted.Length / 2;
            return sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        }
    }

    /// <summary>`begin` is not timed. Its result is passed to `work` and disposed.</summary>
    internal static Passes Run<T>(int count, Func<T> begin, Action<T> work)
        where T : IDisposable
    {
        var passes = new Passes();
        for (var pass = 0; pass <= count; ++pass)
        {
            using (var used = begin()) passes.Add(() => work(used), pass > 0);
        }
        return passes;
    }

    internal void Add(Action work, bool counts)
    {
        var allocated = GC.GetAllocatedBytesForCurrentThread();
        var begun = Clock.Ns;
        work();
        var took = Clock.Ns - begun;
        allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
        if (!counts) return;
        ns.Add(took);
        Garbage += allocated;
    }

    internal string Each(double operations, string format) =>
        "ns=" + (MedianNs / operations).ToString(format, CultureInfo.InvariantCulture);
}

static class Clock
{
    /// <summary>Monotonic time.</summary>
    internal static double Ns => System.Diagnostics.Stopwatch.GetTimestamp() * (1e9 / System.Diagnostics.Stopwatch.Frequency);
}

/// <summary>The arguments of a rate: key=value.</summary>
sealed class Step
{
    readonly Dictionary<string, string> values;

    internal Step(IEnumerable<string> words) =>
        values = words.Select(word => word.Split(new[] { '=' }, 2)).ToDictionary(pair => pair[0], pair => pair[1]);

    internal string Text(string key) => values[key];

    internal ulong Number(string key) => ulong.Parse(values[key], CultureInfo.InvariantCulture);

    internal int Int(string key) => (int)Number(key);
}

static class Rates
{
    const string RecordFormat = "F3"; // format of ns per record
    const int RowBytes = 56;
    const int Capacity = 1 << 20;

    static readonly Dictionary<string, Func<Step, string>> all = new Dictionary<string, Func<Step, string>>
    {
        { "read", Read },
        { "take", Take },
        { "publish", step => Publish(step, step.Int("rows")) },
        { "publish-one", step => Publish(step, 1) },
        { "echo", RoundTrips.Echo },
        { "ping", RoundTrips.Ping },
        { "channel-echo", RoundTrips.ChannelEcho },
        { "channel-ping", RoundTrips.ChannelPing },
    };

    /// <summary>The publishers have no journal to fill gaps.</summary>
    internal static SubscriberOptions OptionsOf(string directory) => new SubscriberOptions
    {
        Directory = directory, Start = Start.Oldest, OnGap = OnGap.Skip, Wait = WaitStrategy.Busy,
    };

    static Subscriber Open(string directory) => Subscriber.Open(OptionsOf(directory));

    static void ReadPass(Subscriber subscriber, Batch batch, long records)
    {
        for (long count = 0; count < records;)
        {
            subscriber.Read(batch);
            if (batch.Kind == BatchKind.Records) count += batch.Count;
        }
    }

    static string Read(Step step)
    {
        var directory = step.Text("directory");
        var records = (long)step.Number("records");
        var passCount = step.Int("passes");
        using (var batch = new Batch(step.Int("rows"), RowBytes))
        {
            var passes = Passes.Run(passCount, () => Open(directory), subscriber => ReadPass(subscriber, batch, records));
            var garbage = passes.Garbage / (double)(records * passCount);
            return $"{passes.Each(records, RecordFormat)} garbage={garbage.ToString("F3", CultureInfo.InvariantCulture)}";
        }
    }

    /// <summary>Reads the next record. Events before it are read into `batch` and lost.</summary>
    internal static void TakeNext(Subscriber subscriber, byte[] record, Batch batch)
    {
        for (;;)
        {
            try
            {
                subscriber.ReadOne(record);
                return;
            }
            catch (LapwingException error) when (error.Code == ErrorCode.EventDue)
            {
                subscriber.Read(batch);
            }
        }
    }

    static string Take(Step step)
    {
        var directory = step.Text("directory");
        var records = (long)step.Number("records");
        var record = new byte[RowBytes];
        using (var batch = new Batch(new byte[0]))
        {
            var passes = Passes.Run(step.Int("passes"), () => Open(directory), subscriber =>
            {
                for (long count = 0; count < records; ++count) TakeNext(subscriber, record, batch);
            });
            return passes.Each(records, RecordFormat);
        }
    }

    internal static Publisher PublisherOf(string directory, int capacity) => Publisher.Open(new PublisherOptions
    {
        Directory = directory, RecordBytes = RowBytes, Capacity = capacity, NoJournal = true,
    });

    static void PublishPass(Publisher publisher, byte[] rows, long records)
    {
        var count = rows.Length / RowBytes;
        for (; records >= count; records -= count) publisher.Publish(rows);
        if (records > 0) publisher.Publish(rows, 0, (int)records * RowBytes);
    }

    static string Publish(Step step, int rowCount)
    {
        var records = (long)step.Number("records");
        var rows = new byte[rowCount * RowBytes];
        using (var publisher = PublisherOf(step.Text("directory"), Capacity))
        {
            var passes = new Passes();
            for (var pass = 0; pass <= step.Int("passes"); ++pass)
            {
                passes.Add(() => PublishPass(publisher, rows, records), pass > 0);
            }
            return passes.Each(records, RecordFormat);
        }
    }

    static int Main(string[] arguments)
    {
        Library.Require();
        Console.Out.WriteLine(all[arguments[0]](new Step(arguments.Skip(1))));
        return 0;
    }
}
