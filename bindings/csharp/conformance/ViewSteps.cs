// Views of others' memory, used when they must not be.
using System;
using System.Linq;
using Lapwing;

static class ViewSteps
{
    const string Path = "view.sock";
    const int SegmentBytes = 65536;
    const int MappedRows = 20000; // more than a segment has
    const ulong MappedFirst = 10;

    static readonly byte[] payload = Records.Of(1, MisuseSteps.RowBytes);

    /// <summary>Rows of a finished segment, whose history is closed.</summary>
    static HistoryView Mapped()
    {
        var options = new PublisherOptions
        {
            Directory = "mapped", RecordBytes = MisuseSteps.RowBytes, Capacity = 4096, SegmentBytes = SegmentBytes,
        };
        using (var publisher = Publisher.Open(options, MisuseSteps.Hang))
        {
            publisher.Publish(MisuseSteps.Rows(MappedRows));
            publisher.Flush();
            using (var history = History.Open("mapped")) return history.Map(MappedFirst, MappedFirst);
        }
    }

    static T WithMessage<T>(Func<Consumer, T> use)
    {
        using (var listener = Listener.Open(Path))
        {
            Producer producer;
            using (var consumer = MisuseSteps.Connected(listener, Path, out producer))
            using (producer)
            {
                producer.Send(new Message(1, payload));
                return use(consumer);
            }
        }
    }

    static unsafe string ReleasedMessage(Consumer consumer)
    {
        using (var view = consumer.UnsafePeek(1, MisuseSteps.Hang).Single())
        {
            var answer = MisuseSteps.Outcome(() => consumer.Release(1));
            return view.Payload[0] == payload[0] ? answer : "changed";
        }
    }

    static string ReleasedHistory()
    {
        using (var view = Mapped())
        {
            var row = new byte[view.RowBytes];
            var answer = MisuseSteps.Outcome(() => view.CopyRows(0, 1, row));
            if (answer != "ok") return answer;
            return row.SequenceEqual(Records.Of(MappedFirst, row.Length)) ? "kept" : "changed";
        }
    }

    internal static string Released(Step step) =>
        $"ok message={WithMessage(ReleasedMessage)} history={ReleasedHistory()}";

    /// <summary>Writes to what `read` returns: "copy", where the next one is as before.</summary>
    static string WrittenTo(Func<byte[]> read)
    {
        var bytes = read();
        bytes[0] ^= 0xff;
        return read()[0] != bytes[0] ? "copy" : "changed";
    }

    static string WrittenHistory()
    {
        using (var view = Mapped())
        {
            return WrittenTo(() =>
            {
                var row = new byte[view.RowBytes];
                view.CopyRows(0, 1, row);
                return row;
            });
        }
    }

    internal static string Written(Step step)
    {
        var message = WithMessage(consumer => WrittenTo(() => consumer.Peek(1, MisuseSteps.Hang)[0].Payload));
        return $"ok message={message} history={WrittenHistory()}";
    }
}
