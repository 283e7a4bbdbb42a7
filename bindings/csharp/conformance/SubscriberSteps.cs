using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using Lapwing;

/// <summary>The rows between two events, regardless of batch boundaries.</summary>
sealed class Run
{
    readonly Digest digest = new Digest();
    BatchKind kind;
    bool isSparse;
    int count;
    int rowBytes;
    ulong first;
    ulong last;
    ulong conflated;

    internal void Add(Batch batch)
    {
        if (batch.Count == 0) return;
        if (count == 0) first = batch.First;
        kind = batch.Kind;
        isSparse = batch.IsSparse;
        rowBytes = batch.RowBytes;
        count += batch.Count;
        if (kind == BatchKind.Records) last = batch.Sequence(batch.Count - 1);
        digest.Add(batch.Memory, batch.Count * batch.RowBytes);
        for (var i = 0; i < batch.Count; ++i) conflated += batch.Conflated[i];
    }

    internal IEnumerable<string> Lines
    {
        get
        {
            if (count == 0) yield break;
            var rows = $"count={count} row_bytes={rowBytes} digest={digest}";
            yield return kind == BatchKind.State
                ? $"ok state {rows}"
                : $"ok records first={first} last={last} {rows}{(isSparse ? $" conflated={conflated}" : "")}";
        }
    }

    internal static string LineOf(Batch batch)
    {
        if (batch.Kind == BatchKind.Event) return LineOf(batch.Event);
        var run = new Run();
        run.Add(batch);
        return run.Lines.First();
    }

    internal static string LineOf(Event happened)
    {
        var text = $"ok event kind={Names.Of(happened.Kind)} sequence={happened.Sequence}";
        switch (happened.Kind)
        {
            case EventKind.Gap:
            case EventKind.Lost:
                return text + $" first={happened.First} last={happened.Last} cause={Names.Of(happened.Cause)} " +
                    $"fillable={Names.Bit(happened.IsFillable)}";
            case EventKind.Session:
            case EventKind.Reset:
                return text + $" record_bytes={happened.RecordBytes} schema={happened.SchemaName}";
            case EventKind.SnapshotComplete:
                return text + $" entries={happened.StateEntries}";
            default:
                return text;
        }
    }
}

static class SubscriberSteps
{
    internal const int RowBytesMax = 4096;
    const int BookRowBytesMax = 64;
    const int ReadAllRows = 64;
    const int BooksRows = 64;

    internal static readonly Handles<Subscriber> Subscribers = new Handles<Subscriber>();
    static readonly Handles<Cursor> cursors = new Handles<Cursor>();
    static readonly Handles<Books> books = new Handles<Books>();
    static readonly ConcurrentDictionary<string, Position> positions = new ConcurrentDictionary<string, Position>();

    internal static readonly Dictionary<string, Func<Step, string>> All = new Dictionary<string, Func<Step, string>>
    {
        { "subscriber.open", Open },
        { "subscriber.read", Read },
        { "subscriber.read-all", ReadAll },
        { "subscriber.take", Take },
        { "subscriber.inspect", Inspect },
        {
            "subscriber.position",
            step => Kept(step, Subscribers.Of(step).Position(step.Number("sequence")), "")
        },
        { "subscriber.fd", Descriptor },
        {
            "subscriber.interrupt",
            step =>
            {
                Subscribers.Of(step).Interrupt();
                return "ok";
            }
        },
        { "subscriber.destroy", Subscribers.Destroy },
        {
            "cursor.open",
            step => cursors.Put(step, Cursor.Open(step.Text("path"), step.IsOn("durable"), step.Timeout))
        },
        {
            "cursor.position",
            step =>
            {
                var commit = cursors.Of(step).Last();
                if (commit == null) throw new AnswerException("not-found");
                return Kept(step, commit.Position, $" bytes={commit.OutputBytes} file={commit.OutputFile}");
            }
        },
        {
            "cursor.commit",
            step =>
            {
                cursors.Of(step).Commit(PositionOf(step), step.Number("bytes"), step.Number("file"));
                return "ok";
            }
        },
        { "cursor.destroy", cursors.Destroy },
        { "books.create", step => books.Put(step, new Books()) },
        { "books.follow", Follow },
        { "books.inspect", InspectBooks },
        { "books.destroy", books.Destroy },
    };

    internal static Batch BatchOf(int rows, int bytes) => new Batch(new byte[bytes], rows, true);

    static Position PositionOf(Step step)
    {
        Position position;
        return positions.TryGetValue(step.Text("position") ?? "", out position) ? position : null;
    }

    static string Kept(Step step, Position position, string more)
    {
        positions[step.Text("as")] = position;
        return $"ok sequence={position.Sequence}{more}";
    }

    static Start StartOf(Step step)
    {
        switch (step.Text("start"))
        {
            case "oldest": return Start.Oldest;
            case "snapshot": return Start.Snapshot;
            case "sequence": return Start.Sequence(step.Number("value"));
            case "time": return Start.Time(step.Number("value"));
            case "after": return Start.After(PositionOf(step));
            default: return null;
        }
    }

    static string Open(Step step) => Subscribers.Put(step, Subscriber.Open(new SubscriberOptions
    {
        Directory = step.Text("directory"),
        Start = StartOf(step),
        Fold = step.Text("fold"),
        Expect = step.Text("expect"),
        Instruments = step.Text("instruments")?.Split(','),
        OnGap = step.Choice<OnGap>("on_gap"),
        Wait = step.Choice<WaitStrategy>("wait"),
        EndAtClose = step.IsOn("end_at_close"),
        Reattach = step.Time("reattach_ms"),
        StaleAfter = step.Time("stale_after_ms"),
        BehindRecords = step.Int("behind_records"),
        Conflate = step.Has("conflate_ms"),
        ConflateInterval = step.Time("conflate_ms"),
    }));

    static int RowBytesOf(Subscriber subscriber)
    {
        var bytes = subscriber.Inspect().RecordBytes;
        return bytes == 0 ? RowBytesMax : bytes;
    }

    static string Read(Step step)
    {
        var subscriber = Subscribers.Of(step);
        var rows = step.Int("rows");
        using (var batch = BatchOf(rows, step.Has("bytes") ? step.Int("bytes") : rows * RowBytesOf(subscriber)))
        {
            try
            {
                subscriber.Read(batch, step.Timeout);
            }
            catch (LapwingException error) when (error.Code == ErrorCode.TooSmall)
            {
                throw new AnswerException($"{Names.Of(error.Code)} row_bytes={error.RowBytes}");
            }
            return Run.LineOf(batch);
        }
    }

    static string ReadAll(Step step)
    {
        var subscriber = Subscribers.Of(step);
        var lines = new List<string>();
        var run = new Run();
        using (var batch = BatchOf(ReadAllRows, ReadAllRows * RowBytesMax))
        {
            for (;;)
            {
                try
                {
                    subscriber.Read(batch, step.Timeout);
                }
                catch (LapwingException error)
                {
                    lines.AddRange(run.Lines);
                    lines.Add(Names.Of(error.Code));
                    return string.Join("\n", lines);
                }
                if (batch.Kind != BatchKind.Event)
                {
                    run.Add(batch);
                    continue;
                }
                lines.AddRange(run.Lines);
                run = new Run();
                lines.Add(Run.LineOf(batch.Event));
                if (Names.Of(batch.Event.Kind) != step.Text("until")) continue;
                lines.Add("ok");
                return string.Join("\n", lines);
            }
        }
    }

    static string Take(Step step)
    {
        var subscriber = Subscribers.Of(step);
        var record = new byte[step.Has("bytes") ? step.Int("bytes") : RowBytesOf(subscriber)];
        var sequence = subscriber.ReadOne(record, step.Timeout);
        return $"ok sequence={sequence} digest={Digest.Of(record)}";
    }

    static string Inspect(Step step)
    {
        var info = Subscribers.Of(step).Inspect();
        return $"ok record_bytes={info.RecordBytes} schema={info.SchemaName} records={info.Records} first={info.First} " +
            $"last={info.Last} gaps={info.Gaps} lost={info.Lost} filled={info.Filled} sessions={info.Sessions} " +
            $"filtered={info.Filtered} conflated={info.Conflated}";
    }

    static string Descriptor(Step step)
    {
        var isReadable = Poll.IsReadable(Subscribers.Of(step).Descriptor(), step.Timeout);
        return $"ok readable={Names.Bit(isReadable)}";
    }

    static string Follow(Step step)
    {
        using (var batch = BatchOf(BooksRows, BooksRows * BookRowBytesMax))
        {
            do
            {
                Subscribers.Named(step.Text("from")).Read(batch, step.Timeout);
                books.Of(step).Take(batch);
            }
            while (batch.Kind != BatchKind.Event || Names.Of(batch.Event.Kind) != step.Text("until"));
        }
        return "ok";
    }

    static string InspectBooks(Step step)
    {
        var info = books.Of(step).Inspect();
        return $"ok sequence={info.Sequence} books={info.Books} orders={info.Orders} " +
            $"settled={Names.Bit(info.IsSettled)} loading={Names.Bit(info.IsLoading)} digest={info.Digest:x16}";
    }
}
