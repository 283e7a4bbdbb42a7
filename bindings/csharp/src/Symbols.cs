using System;
using System.Collections.Generic;

namespace Lapwing
{
    /// <summary>A mapping of a symbol to an instrument, from one date up to another.</summary>
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
    /// The instruments of symbols, by date: the mappings of the feed's DBN metadata. A feed without metadata has
    /// none. A directory without a bus is an error, no-bus.
    /// </summary>
    public sealed unsafe class Symbols : LapwingObject
    {
        readonly SymbolsHandle handle;

        Symbols(SymbolsHandle handle)
            : base(handle)
        {
            this.handle = handle;
        }

        /// <summary>The mappings as the last publisher of the bus wrote them.</summary>
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
        /// The instrument of a symbol at that time, UTC ns. Outside all dates of the symbol, the mapping that began
        /// last counts. null: the symbol is unknown.
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

        /// <summary>The mapping of an instrument at that time. null: the instrument is unknown.</summary>
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

        /// <summary>All mappings, by symbol, then by date.</summary>
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
