// Converts the library's errors to exceptions.
import { constants, layouts } from './abi.js';
import { errorName, LapwingError } from './failure.js';
import { Struct } from './memory.js';

export * from './failure.js';

/** A lapwing_error, used by one call at a time. */
export class ErrorMemory {
  readonly #struct = new Struct(layouts.lapwing_error);
  readonly bytes = this.#struct.bytes;

  thrown(result: number): LapwingError {
    const { sysErrno, message } = this.#struct.read() as { sysErrno: number; message: string };
    return new LapwingError(result, message || errorName(result), sysErrno);
  }
}

/** Error memory shared by all calls on this thread, since they do not overlap. */
export const errorMemory = new ErrorMemory();

/** Throws unless `result` is ok. */
export function check(result: number, memory: ErrorMemory = errorMemory): void {
  if (result !== constants.OK) throw memory.thrown(result);
}
