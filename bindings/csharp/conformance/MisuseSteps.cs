// Steps that misuse the package: see the section "Misuse" in tests/conformance/bindings/README.md.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Lapwing;

static class MisuseSteps
{
    internal const int RowBytes = 16;
    internal static readonly TimeSpan Hang = TimeSpan.FromSeconds(10); // only ends a hang

    const int DroppedRows = 1000;
    const int CollectionsMax = 100;
    const int BeginMs = 100; // time for a new thread to start waiting
    const int ExitCode = 7;

    static Publisher dropped; // opened by misuse.open-dropped, released by misuse.drop

    internal static readonly Dictionary<string, Func<Step, string>> All = new Dictionary<string, Func<Step, string>>
    {
        { "misuse.used-after", UsedAfter },
        { "misuse.two-threads", TwoThreads },
        { "misuse.forked", ForkedStep.Run },
        { "misuse.wait", step => WaitForever(step.Text("directory")) },
        { "misuse.exit-in-wait", ExitInWait },
        { "misuse.open-dropped", OpenDropped },
        { "misuse.drop", Drop },
    };

    /// <summary>Returns "ok", or the name of the error or exception with which the action fails.</summary>
    internal static string Outcome(Action action)
    {
        try
        {
            action();
            return "ok";
        }
        catch (LapwingException error)
        {
            return Names.Of(error.Code);
        }
        catch (ObjectDisposedException)
        {
            return Names.Of(ErrorCode.Misuse);
        }
        catch (Exception error)
        {
            return error.GetType().Name;
        }
    }

    internal static string Different(IEnumerable<string> names) =>
        string.Join(",", names.Distinct().OrderBy(name => name, StringComparer.Ordinal));

    internal static Publisher PublisherOf(string directory) =>
        Publisher.Open(new PublisherOptions { Directory = directory, RecordBytes = RowBytes, Capacity = 4096 }, Hang);

    internal static Subscriber SubscriberOf(string directory, Start start) =>
        Subscriber.Open(new SubscriberOptions { Directory = directory, Start = start });

    internal static byte[] Rows(int count)
    {
        var rows = new byte[count * RowBytes];
        for (var row = 0; row < count; ++row) Records.Write(rows, row * RowBytes, (ulong)row + 1, RowBytes);
        return rows;
    }

    internal static void ReadRecords(Subscriber subscriber, Batch batch)
    {
        do subscriber.Read(batch, Hang);
        while (batch.Kind != BatchKind.Records);
    }

    /// <summary>Opens both sides of a channel in this process.</summary>
    internal static Consumer Connected(Listener listener, string path, out Producer producer)
    {
        var accept = listener.AcceptAsync(ChannelRole.Consumer);
        producer = Producer.Connect(path, null, Hang);
        return (Consumer)accept.GetAwaiter().GetResult();
    }

    /// <summary>Opens one object of each kind. The values are calls on them.</summary>
    static Dictionary<LapwingObject, Action> OneOfEach(string directory)
    {
        const string path = "own.sock";
        var publisher = PublisherOf("own");
        var subscriber = SubscriberOf(directory, Start.Live);
        var cursor = Cursor.Open("own.cursor");
        var history = History.Open(directory);
        var books = new Books();
        var listener = Listener.Open(path);
        Producer producer;
        var consumer = Connected(listener, path, out producer);
        return new Dictionary<LapwingObject, Action>
        {
            { publisher, () => publisher.Publish(new byte[RowBytes]) },
            { subscriber, () => subscriber.Inspect() },
            { cursor, () => cursor.Last() },
            { history, () => history.Inspect() },
            { books, () => books.Inspect() },
            { listener, listener.Tend },
            { producer, () => producer.Send(new Message(1, new byte[RowBytes])) },
            { consumer, () => consumer.Peek(1, TimeSpan.Zero) },
        };
    }

    static string UsedAfter(Step step)
    {
        var objects = OneOfEach(step.Text("directory"));
        foreach (var one in objects.Keys) one.Dispose();
        foreach (var one in objects.Keys) one.Dispose();
        return $"ok kinds={objects.Count} answers={Different(objects.Values.Select(Outcome))}";
    }

    /// <summary>Reads until a read ends. Tries again if a read of the other thread overlaps its start.</summary>
    static string WaitBesideOthers(Subscriber subscriber, Batch batch)
    {
        string outcome;
        do outcome = Outcome(() => subscriber.Read(batch));
        while (outcome == "misuse");
        return outcome;
    }

    static string TwoThreads(Step step)
    {
        using (var subscriber = CaughtUp(step.Text("directory")))
        using (var batch = new Batch(1, RowBytes))
        using (var other = new Batch(1, RowBytes))
        {
            var first = Task.Factory.StartNew(
                () => WaitBesideOthers(subscriber, batch), TaskCreationOptions.LongRunning);
            string second;
            do
            {
                Thread.Sleep(1);
                second = Outcome(() => subscriber.TryRead(other));
            }
            while (second == "ok");
            subscriber.Interrupt();
            return $"ok second={second} first={first.Result}";
        }
    }

    static Subscriber CaughtUp(string directory)
    {
        var subscriber = SubscriberOf(directory, Start.Live);
        using (var batch = new Batch(1, RowBytes))
        {
            do subscriber.Read(batch, Hang);
            while (batch.Event?.Kind != EventKind.CaughtUp);
        }
        return subscriber;
    }

    static string WaitForever(string directory)
    {
        using (var subscriber = CaughtUp(directory))
        using (var batch = new Batch(1, RowBytes))
        {
            for (;;) subscriber.Read(batch);
        }
    }

    static string ExitInWait(Step step)
    {
        new Thread(() => WaitForever(step.Text("directory"))).Start();
        Thread.Sleep(BeginMs);
        Environment.Exit(ExitCode);
        return "ok";
    }

    /// <summary>Runs `make` on a thread that ends, so that no stack keeps its objects alive.</summary>
    static T OnItsOwnThread<T>(Func<T> make) =>
        Task.Factory.StartNew(make, TaskCreationOptions.LongRunning).GetAwaiter().GetResult();

    static string OpenDropped(Step step) => OnItsOwnThread(() =>
    {
        dropped = PublisherOf(step.Text("directory"));
        dropped.Publish(Rows(DroppedRows));
        return "ok";
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference Forget() => OnItsOwnThread(() =>
    {
        var forgotten = new WeakReference(dropped);
        dropped = null;
        return forgotten;
    });

    static string Drop(Step step)
    {
        var watch = Stopwatch.StartNew();
        var forgotten = Forget();
        for (var collections = 0; forgotten.IsAlive; ++collections)
        {
            if (collections == CollectionsMax) throw new AnswerException("not-collected");
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        return $"ok ms={watch.ElapsedMilliseconds}";
    }
}
