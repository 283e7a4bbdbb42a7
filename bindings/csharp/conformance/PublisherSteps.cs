using System;
using System.Collections.Generic;
using Lapwing;

static class PublisherSteps
{
    static readonly Handles<Publisher> publishers = new Handles<Publisher>();

    internal static readonly Dictionary<string, Func<Step, string>> All = new Dictionary<string, Func<Step, string>>
    {
        { "publisher.open", Open },
        { "publisher.publish", Publish },
        { "publisher.flush", step => $"ok durable={publishers.Of(step).Flush(step.Timeout)}" },
        { "publisher.inspect", Inspect },
        {
            "publisher.close",
            step =>
            {
                publishers.Of(step).Close(step.Timeout);
                return "ok";
            }
        },
        {
            "publisher.interrupt",
            step =>
            {
                publishers.Of(step).Interrupt();
                return "ok";
            }
        },
        { "publisher.destroy", publishers.Destroy },
    };

    static string Open(Step step) => publishers.Put(step, Publisher.Open(
        new PublisherOptions
        {
            Directory = step.Text("directory"),
            SchemaName = step.Text("schema_name"),
            Schema = step.Text("schema"),
            RecordBytes = step.Int("record_bytes"),
            Capacity = step.Int("capacity"),
            SegmentBytes = step.IntOrNull("segment_bytes"),
            RetainBytes = step.Number("retain_bytes"),
            SourceId = step.Number("source_id"),
            NoJournal = step.IsOn("no_journal"),
            Resume = step.IsOn("resume"),
        },
        step.Timeout));

    static byte[] RowsOf(Step step, int bytes)
    {
        var count = step.Int("count");
        var rows = new byte[count * bytes];
        for (var row = 0; row < count; ++row) Records.Write(rows, row * bytes, step.Number("from") + (ulong)row, bytes);
        return rows;
    }

    static string Publish(Step step)
    {
        try
        {
            var publisher = publishers.Of(step);
            var bytes = step.Int("bytes", publisher.RecordBytes);
            var rows = RowsOf(step, bytes);
            return $"ok last={publisher.Publish(rows, 0, rows.Length, step.Timeout, bytes)}";
        }
        catch (LapwingException error)
        {
            throw new AnswerException($"{Names.Of(error.Code)} last={error.LastPublished}");
        }
        catch (AnswerException answer)
        {
            throw new AnswerException($"{answer.Message} last=0");
        }
    }

    static string Inspect(Step step)
    {
        var info = publishers.Of(step).Inspect();
        return $"ok record_bytes={info.RecordBytes} first={info.First} head={info.Head} " +
            $"settled={Names.Of(info.Settled)} journal={Names.Of(info.JournalState)} " +
            $"source_offset={info.SourceOffset} void={info.VoidFirst}-{info.VoidLast}";
    }
}
