using System;
using System.Collections.Generic;
using System.Linq;
using Lapwing;

static class SymbolsSteps
{
    static readonly Handles<Symbols> symbols = new Handles<Symbols>();

    internal static readonly Dictionary<string, Func<Step, string>> All = new Dictionary<string, Func<Step, string>>
    {
        { "symbols.open", step => symbols.Put(step, Symbols.Open(step.Text("directory"))) },
        { "symbols.find", Find },
        { "symbols.name", Name },
        { "symbols.list", step => $"ok mappings={string.Join(",", symbols.Of(step).List().Select(TextOf))}" },
        { "symbols.destroy", symbols.Destroy },
    };

    static string TextOf(SymbolMapping mapping) =>
        $"{mapping.Symbol}:{mapping.InstrumentId}:{mapping.StartDate}:{mapping.EndDate}";

    static string Find(Step step)
    {
        var instrument = symbols.Of(step).Find(step.Text("symbol"), step.Number("utc_ns"));
        return $"ok instrument={instrument ?? throw new AnswerException("not-found")}";
    }

    static string Name(Step step)
    {
        var mapping = symbols.Of(step).Name((uint)step.Number("instrument"), step.Number("utc_ns"));
        return $"ok mapping={TextOf(mapping ?? throw new AnswerException("not-found"))}";
    }
}
