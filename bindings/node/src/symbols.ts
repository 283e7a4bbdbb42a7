// Maps symbols to instruments by date, from the metadata of a bus's feed.
import { constants, layouts, type SymbolMapping as Mapping } from './abi.js';
import { check, errorMemory } from './error.js';
import { Handle, openInThread } from './handle.js';
import { native } from './library.js';
import { readAll } from './listing.js';
import { Cell, checkNumber, Struct } from './memory.js';
import { checkText } from './options.js';

/** A symbol and its instrument from startDate until the day before endDate. UTC dates, as YYYYMMDD: 20240102. */
export type SymbolMapping = Mapping;

export class Symbols extends Handle {
  /** Reads the symbols that the bus's last publisher stored. A feed without metadata has no symbols. Error: no-bus. */
  static async open(directory: string): Promise<Symbols> {
    checkText('directory', directory);
    return new Symbols(await openInThread('lapwing_symbols_open', 'lapwing_symbols_destroy', [directory]));
  }

  private constructor(cell: Cell) {
    super(cell, 'set of symbols', 'lapwing_symbols_destroy');
  }

  /**
   * Returns the instrument of a symbol at that time, in UTC ns, or undefined if the symbol is
   * unknown. If the time is outside all of the symbol's dates, the mapping with the latest start date is used.
   */
  find(symbol: string, utcNs: bigint): number | undefined {
    checkText('symbol', symbol);
    checkNumber('utcNs', 'u64', utcNs);
    const id = new Uint32Array(1);
    const result = native.lapwing_symbols_find(
      this.pointer, symbol, utcNs, new Uint8Array(id.buffer), errorMemory.bytes,
    );
    if (result === constants.ERROR_NOT_FOUND) return undefined;
    check(result);
    return id[0];
  }

  /** Returns the mapping of an instrument at that time, in UTC ns, or undefined if it is unknown. */
  name(instrumentId: number, utcNs: bigint): SymbolMapping | undefined {
    checkNumber('instrumentId', 'u32', instrumentId);
    checkNumber('utcNs', 'u64', utcNs);
    const mapping = new Struct(layouts.lapwing_symbol_mapping);
    const result = native.lapwing_symbols_name(
      this.pointer, instrumentId, utcNs, mapping.bytes, errorMemory.bytes,
    );
    if (result === constants.ERROR_NOT_FOUND) return undefined;
    check(result);
    return mapping.read() as unknown as SymbolMapping;
  }

  /** Returns all mappings, sorted by symbol, then by date. */
  list(): SymbolMapping[] {
    return readAll<SymbolMapping>(layouts.lapwing_symbol_mapping, (mappings, max, count) =>
      native.lapwing_symbols_list(this.pointer, mappings, max, count, errorMemory.bytes),
    );
  }
}
