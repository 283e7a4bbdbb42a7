// Publishes quotes from a struct with a schema. Tools and readers in any language can use the fields by name.
//
//   mono Publish.exe ./quotes 1000
//   lapwing tail --bus ./quotes --from oldest
using System;
using System.Runtime.InteropServices;
using Lapwing;

[StructLayout(LayoutKind.Sequential)]
struct Quote
{
    public ulong Ts; // UTC ns
    public uint Instrument;
    public uint Size;
    public long Bid; // units of 1e-9
    public long Ask;
}

static class Publish
{
    const string QuoteSchema = @"{""name"":""desk.quote"",""version"":1,""record_bytes"":32,""fields"":[
        {""name"":""ts"",""type"":""uint64"",""offset"":0,""unit"":""utc_ns"",""role"":""time""},
        {""name"":""instrument"",""type"":""uint32"",""offset"":8,""role"":""key""},
        {""name"":""size"",""type"":""uint32"",""offset"":12},
        {""name"":""bid"",""type"":""int64"",""offset"":16,""unit"":""price""},
        {""name"":""ask"",""type"":""int64"",""offset"":24,""unit"":""price""}]}";

    const long Tick = 250000000; // 0.25, in units of 1e-9
    static readonly DateTime epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    static int Main(string[] words)
    {
        if (words.Length != 2)
        {
            Console.Error.WriteLine("usage: Publish BUS COUNT");
            return 2;
        }
        var count = int.Parse(words[1]);
        using (var publisher = Publisher.Open(new PublisherOptions { Directory = words[0], Schema = QuoteSchema }))
        {
            Schema.OfBus(words[0]).Check<Quote>(); // throws if the struct does not match the schema
            var quotes = new Quote[1];
            for (var n = 0; n < count; ++n)
            {
                var bid = 4500000000000 + n * Tick;
                quotes[0] = new Quote
                {
                    Ts = (ulong)(DateTime.UtcNow - epoch).Ticks * 100, Instrument = 7, Size = 10, Bid = bid, Ask = bid + Tick,
                };
                publisher.PublishRecords(quotes, 0, 1);
            }
            publisher.Close();
        }
        Console.WriteLine($"{count} quotes are durable in {words[0]}");
        return 0;
    }
}
