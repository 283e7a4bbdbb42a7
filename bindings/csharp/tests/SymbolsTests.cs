using System;
using System.IO;
using System.Linq;
using System.Text;
using Lapwing;

static class SymbolsTests
{
    const int SymbolBytes = 71;
    const int ReservedBytes = 53;

    static readonly ulong january = Midnight(2024, 1, 15);
    static readonly ulong march = Midnight(2024, 3, 15);
    static readonly ulong december = Midnight(2030, 12, 15);

    static ulong Midnight(int year, int month, int day) =>
        (ulong)(new DateTimeOffset(year, month, day, 0, 0, 0, TimeSpan.Zero).ToUnixTimeSeconds() * 1000000000);

    static byte[] Field(string text, int bytes)
    {
        var field = new byte[bytes];
        Encoding.ASCII.GetBytes(text).CopyTo(field, 0);
        return field;
    }

    /// <summary>Creates DBN metadata, version 2, with mappings "SYMBOL ID START END".</summary>
    static byte[] MetadataOf(params string[] mappings)
    {
        using (var rest = new MemoryStream())
        using (var writer = new BinaryWriter(rest))
        {
            writer.Write(Field("XTST.BOOK", 16));
            writer.Write((ushort)0); // mbo
            writer.Write(0ul);
            writer.Write(ulong.MaxValue);
            writer.Write(0ul);
            writer.Write(new byte[] { 1, 0, 0 }); // raw symbols to instruments, no ts_out
            writer.Write((ushort)SymbolBytes);
            writer.Write(new byte[ReservedBytes + 4 + 3 * 4]); // no schema definition, three empty lists
            writer.Write(mappings.Length);
            foreach (var words in mappings.Select(mapping => mapping.Split(' ')))
            {
                writer.Write(Field(words[0], SymbolBytes));
                writer.Write(1);
                writer.Write(uint.Parse(words[2]));
                writer.Write(uint.Parse(words[3]));
                writer.Write(Field(words[1], SymbolBytes));
            }
            writer.Flush();
            return Encoding.ASCII.GetBytes("DBN\x02").Concat(BitConverter.GetBytes((int)rest.Length))
                .Concat(rest.ToArray()).ToArray();
        }
    }

    static void With(byte[] metadata, Action<Symbols> check)
    {
        using (var folder = new Folder())
        {
            BusTests.PublisherOf(folder["bus"], options =>
            {
                options.RecordBytes = 0;
                options.SchemaName = "dbn.mbo";
                options.Metadata = metadata;
            }).Dispose();
            using (var symbols = Symbols.Open(folder["bus"])) check(symbols);
        }
    }

    [Test("A symbol stands for an instrument by date, and after all its dates for the last one")]
    static void ByDate() => With(MetadataOf("ES 7 20240101 20240301", "ES 8 20240301 20240601", "NQ 7 20240301 20240601"), symbols =>
    {
        Check.Equal(7u, symbols.Find("ES", january).Value);
        Check.Equal(8u, symbols.Find("ES", march).Value);
        Check.Equal(8u, symbols.Find("ES", december).Value);
        Check.That(symbols.Find("CL", january) == null, "CL is known");
        Check.That(symbols.Find(null, january) == null, "a missing symbol is known");
        Check.Equal("ES", symbols.Name(7, january).Symbol);
        Check.Equal("NQ is 7 from 20240301 to before 20240601", symbols.Name(7, march).ToString());
        Check.That(symbols.Name(9, january) == null, "9 is known");
        Check.Same(new[] { "ES 7", "ES 8", "NQ 7" },
            symbols.List().Select(mapping => $"{mapping.Symbol} {mapping.InstrumentId}"));
        symbols.Dispose();
        Check.Throws<ObjectDisposedException>(() => symbols.Find("ES", january));
    });

    [Test("A list of symbols is whole, whatever its length, and empty without metadata")]
    static void Lists()
    {
        var many = Enumerable.Range(0, 1000).Select(n => $"S{n:d4} {n} 20240101 20250101").ToArray();
        With(MetadataOf(many), symbols =>
            Check.Same(many, symbols.List().Select(mapping =>
                $"{mapping.Symbol} {mapping.InstrumentId} {mapping.StartDate} {mapping.EndDate}")));
        With(null, symbols => Check.Equal(0, symbols.List().Count));
    }
}
