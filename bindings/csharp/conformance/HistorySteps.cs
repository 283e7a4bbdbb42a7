using System;
using System.Collections.Generic;
using Lapwing;

static class HistorySteps
{
    static readonly Handles<History> histories = new Handles<History>();
    static readonly Handles<HistoryView> views = new Handles<HistoryView>();

    internal static readonly Dictionary<string, Func<Step, string>> All = new Dictionary<string, Func<Step, string>>
    {
        { "history.open", step => histories.Put(step, History.Open(step.Text("directory"))) },
        { "history.inspect", Inspect },
        { "history.read", Read },
        { "history.find-time", step => $"ok sequence={histories.Of(step).FindTime(step.Number("value"))}" },
        { "history.map", Map },
        { "history.unmap", views.Destroy },
        { "history.destroy", histories.Destroy },
    };

    static string Inspect(Step step)
    {
        var info = histories.Of(step).Inspect();
        return $"ok record_bytes={info.RecordBytes} schema={info.SchemaName} oldest={info.Oldest} " +
            $"archived={info.Archived} durable={info.Durable}";
    }

    static string Read(Step step)
    {
        var rows = step.Int("rows");
        using (var batch = SubscriberSteps.BatchOf(rows, rows * SubscriberSteps.RowBytesMax))
        {
            histories.Of(step).Read(step.Number("first"), batch);
            return Run.LineOf(batch);
        }
    }

    static string Map(Step step)
    {
        var view = histories.Of(step).Map(step.Number("first"), step.Number("last"));
        views.Put(step, view);
        var rows = new byte[view.Count * view.RowBytes];
        view.CopyRows(0, (int)view.Count, rows);
        return $"ok first={view.First} count={view.Count} row_bytes={view.RowBytes} digest={Digest.Of(rows)}";
    }
}
