// Prints the best bid and ask of an instrument on a dbn.mbo bus each time they change.
//
//   lapwing publish --bus ./es --source synthetic:records=100000 --linger 5s &
//   mono TopOfBook.exe ./es 60000 1
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
        // Starts with the state of the newest checkpoint, then reads every record after it.
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
                books.Take(item); // handles records, losses and snapshots
                var book = books.Find(key);
                if (book == null || !book.IsSettled || book.IsStale) continue; // may differ from the venue's book
                var top = $"{TextOf(book.Bid)} | {TextOf(book.Ask)}";
                if (top == last) continue;
                last = top;
                Console.WriteLine($"{book.Sequence} {top}");
            }
        }
        return 0;
    }
}
