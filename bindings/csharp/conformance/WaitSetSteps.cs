using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using Lapwing;

static class WaitSetSteps
{
    static readonly Handles<WaitSet> sets = new Handles<WaitSet>();
    static readonly ConcurrentDictionary<string, Source> sources = new ConcurrentDictionary<string, Source>();

    internal static readonly Dictionary<string, Func<Step, string>> All = new Dictionary<string, Func<Step, string>>
    {
        {
            "set.open",
            step => sets.Put(step, new WaitSet(step.Choice<WaitStrategy>("wait") ?? WaitStrategy.Backoff))
        },
        { "set.add", step => Put(step.Text("source"), Added(step, sets.Of(step))) },
        {
            "set.add-timer",
            step => Put(step.Text("as"), sets.Of(step).AddTimer(DueTime(step), step.Time("every_ms"), TokenOf(step)))
        },
        {
            "set.set-timer",
            step =>
            {
                sets.Of(step).SetTimer(Named(step.Text("timer")), DueTime(step), step.Time("every_ms"));
                return "ok";
            }
        },
        {
            "set.remove",
            step =>
            {
                sets.Of(step).Remove(Named(step.Text("source")));
                return "ok";
            }
        },
        { "set.wait", Wait },
        {
            "set.interrupt",
            step =>
            {
                sets.Of(step).Interrupt();
                return "ok";
            }
        },
        { "set.destroy", sets.Destroy },
    };

    static object TokenOf(Step step) => step.Number("token");

    static TimeSpan DueTime(Step step) =>
        step.Text("in_ms") == "never" ? System.Threading.Timeout.InfiniteTimeSpan : step.Time("in_ms") ?? TimeSpan.Zero;

    static Source Named(string name)
    {
        Source source;
        return sources.TryGetValue(name, out source) ? source : throw new AnswerException("not-found");
    }

    static string Put(string name, Source source)
    {
        sources[name] = source;
        return "ok";
    }

    static Source Added(Step step, WaitSet set)
    {
        var name = step.Text("source");
        if (SubscriberSteps.Subscribers.Has(name)) return set.Add(SubscriberSteps.Subscribers.Named(name), TokenOf(step));
        if (ChannelSteps.Listeners.Has(name)) return set.Add(ChannelSteps.Listeners.Named(name), TokenOf(step));
        return set.Add(ChannelSteps.Channels.Named(name), TokenOf(step), step.Int("bytes"));
    }

    static string Wait(Step step)
    {
        var ready = sets.Of(step).Wait(step.Timeout);
        return $"ok kind={Names.Of(ready.Kind)} token={ready.Token}";
    }
}
