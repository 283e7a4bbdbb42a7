using System;
using System.Collections.Generic;

namespace Lapwing
{
    /// <summary>Maps a symbol to an instrument from StartDate until the day before EndDate.</summary>
    public sealed unsafe class SymbolMapping
    {
        const int SymbolBytes = 80;

        internal SymbolMapping(lapwing_symbol_mapping raw)
        {
            Symbol = Text.Of(raw.symbol, SymbolBytes);
            InstrumentId = raw.instrument_id;
            StartDate = raw.start_date;
            EndDate = raw.end_date;
        }

        public string Symbol { get; }

        public uint InstrumentId { get; }

        /// <summary>UTC, YYYYMMDD.</summary>
        public uint StartDate { get; }

        /// <summary>UTC, YYYYMMDD; exclusive.</summary>
        public uint EndDate { get; }

        public override string ToString() => $"{Symbol} is {InstrumentId} from {StartDate} to before {EndDate}";
    }

    /// <summary>
    /// Maps symbols to instruments by date, from the feed's DBN metadata. A feed without metadata has no symbols. If
    /// the directory has no bus, Open fails with no-bus.
    /// </summary>
    public sealed unsafe class Symbols : LapwingObject
    {
        readonly SymbolsHandle handle;

        Symbols(SymbolsHandle handle)
            : base(handle)
        {
            this.handle = handle;
        }

        /// <summary>Reads the symbols that the bus's last publisher stored.</summary>
        public static Symbols Open(string directory) => Library.With(() => new Symbols(Opened(directory)));

        static SymbolsHandle Opened(string directory)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            LapwingException.Check(Native.lapwing_symbols_open(Text.Zero(directory), ref pointer, &error), &error);
            return new SymbolsHandle(pointer);
        }

        /// <summary>
        /// Returns the instrument of a symbol at that time, in UTC ns, or null if the symbol is unknown. If the time is
        /// outside all of the symbol's dates, the mapping with the latest start date is used.
        /// </summary>
        public uint? Find(string symbol, ulong utcNs)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            uint instrument;
            var result = Native.lapwing_symbols_find(handle, Text.Zero(symbol), utcNs, &instrument, &error);
            if (result == (int)ErrorCode.NotFound) return null;
            LapwingException.Check(result, &error);
            return instrument;
        }

        /// <summary>Returns the mapping of an instrument at that time, or null if the instrument is unknown.</summary>
        public SymbolMapping Name(uint instrumentId, ulong utcNs)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            lapwing_symbol_mapping mapping;
            var result = Native.lapwing_symbols_name(handle, instrumentId, utcNs, &mapping, &error);
            if (result == (int)ErrorCode.NotFound) return null;
            LapwingException.Check(result, &error);
            return new SymbolMapping(mapping);
        }

        /// <summary>Returns all mappings, sorted by symbol, then by date.</summary>
        public IReadOnlyList<SymbolMapping> List() =>
            Listing.All<lapwing_symbol_mapping, SymbolMapping>(
                (rows, count, error) =>
                {
                    fixed (lapwing_symbol_mapping* at = rows)
                    {
                        return Native.lapwing_symbols_list(handle, at, (UIntPtr)rows.Length, count, error);
                    }
                },
                raw => new SymbolMapping(raw));
    }
}
