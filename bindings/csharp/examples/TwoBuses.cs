// Reads two buses on one thread until both are closed. Prints each item as it arrives, and totals once a second.
//
//   lapwing publish --bus ./es --source synthetic:records=1000 --pace 100 &
//   lapwing publish --bus ./nq --source synthetic:records=1000 --pace 300 &
//   mono TwoBuses.exe ./es ./nq
using System;
using Lapwing;

static class TwoBuses
{
    static readonly TimeSpan second = TimeSpan.FromSeconds(1);

    static Subscriber Open(string directory) => Subscriber.Open(new SubscriberOptions
    {
        Directory = directory, Name = "two buses", Start = Start.Oldest, EndAtClose = true,
    });

    static void Print(string bus, Item item)
    {
        if (item is Records records) Console.WriteLine($"{bus}: {records.Count} records from {records.First} on");
        else Console.WriteLine($"{bus}: {item}"); // a gap, a loss, caught up, closed …
    }

    static int Main(string[] words)
    {
        if (words.Length != 2)
        {
            Console.Error.WriteLine("usage: TwoBuses BUS BUS");
            return 2;
        }
        using (var first = Open(words[0]))
        using (var other = Open(words[1]))
        using (var set = new WaitSet())
        {
            set.Add(first);
            set.Add(other);
            var timer = set.AddTimer(second, second);
            for (var open = 2; open > 0;)
            {
                var ready = set.Wait();
                if (ready.Source == timer)
                {
                    Console.WriteLine($"{first.Inspect().Records} and {other.Inspect().Records} records so far");
                }
                else if (ready.Token is Subscriber bus && bus.TryRead(out var item)) // one item; the buses take turns
                {
                    Print(bus == first ? words[0] : words[1], item);
                    if (!(item is Event happened) || happened.Kind != EventKind.Closed) continue;
                    set.Remove(ready.Source); // otherwise the ended bus stays ready
                    --open;
                }
            }
        }
        return 0;
    }
}
