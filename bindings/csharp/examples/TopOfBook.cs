// The best bid and ask of an instrument, from a bus of dbn.mbo, each time they change.
//
//   lapwing publish --bus ./es --source synthetic:records=100000 --linger 5s &
//   mono TopOfBook.exe ./es 1 60000
using System;
using Lapwing;

static class TopOfBook
{
    static string TextOf(Level level) =>
        level.Price == Level.NoPrice ? "-" : FormattableString.Invariant($"{level.Price / 1e9} x {level.Size}");

    static int Main(string[] words)
    {
        if (words.Length != 3)
        {
            Console.Error.WriteLine("usage: TopOfBook BUS PUBLISHER INSTRUMENT");
            return 2;
        }
        var key = new BookKey(ushort.Parse(words[1]), uint.Parse(words[2]));
        // The state of the newest checkpoint, then every record after it.
        var options = new SubscriberOptions
        {
            Directory = words[0], Name = "top of book", Start = Start.Snapshot, EndAtClose = true,
        };
        using (var subscriber = Subscriber.Open(options))
        using (var books = new Books())
        {
            var last = "";
            foreach (var item in subscriber)
            {
                books.Take(item); // records, losses, a snapshot: it knows what to do
                var book = books.Find(key);
                if (book == null || !book.IsSettled || book.IsStale) continue; // between two states of the venue
                var top = $"{TextOf(book.Bid)} | {TextOf(book.Ask)}";
                if (top == last) continue;
                last = top;
                Console.WriteLine($"{book.Sequence} {top}");
            }
        }
        return 0;
    }
}
