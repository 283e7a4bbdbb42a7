// The error type of this package.
import { constants } from './abi.js';
import { native } from './library.js';

type Dashed<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}-${Dashed<Tail>}` : Name;
type CodeOf<Constant> = Constant extends `ERROR_${infer Name}` ? Lowercase<Dashed<Name>> : never;

/** The error names in lapwing.h, such as 'timed-out'. 'unknown' is an error from a newer library. */
export type ErrorCode = CodeOf<keyof typeof constants> | 'unknown';

/** The error of a failed call to Lapwing. */
export class LapwingError extends Error {
  override readonly name = 'LapwingError';
  /** errno of the failed system call; 0 if none failed. */
  readonly errno: number;
  /** The name of the error, for example 'timed-out'. */
  readonly code: ErrorCode;
  /** The error's number in lapwing.h. */
  readonly number: number;
  /** For publish: the last published sequence, or 0n if there is none. */
  declare last?: bigint;
  /** For send: the number of messages sent. */
  declare sent?: number;
  /** For too-small: the size of a row in bytes. */
  declare rowBytes?: number;
  /** For finish and finishAny: the call that has ended. */
  declare call?: bigint;

  constructor(number: number, message: string, errno = 0) {
    super(message);
    this.number = number;
    this.code = errorName(number) as ErrorCode;
    this.errno = errno;
  }
}

const names = new Map<number, ErrorCode | 'ok'>();

/** Returns the name of an error number, for example 'timed-out', or 'unknown'. */
export function errorName(number: number): ErrorCode | 'ok' {
  let name = names.get(number);
  if (name === undefined) names.set(number, (name = native.lapwing_error_name(number) as ErrorCode));
  return name;
}

export const misuse = (message: string) => new LapwingError(constants.ERROR_MISUSE, message);
export const invalid = (message: string) =>
  new LapwingError(constants.ERROR_INVALID_ARGUMENT, message);

/** Returns whether `error` is a LapwingError with one of the codes, or any LapwingError if no codes are given. */
export function isLapwingError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  ...codes: Code[]
): error is LapwingError & { readonly code: Code } {
  return error instanceof LapwingError && (codes.length === 0 || codes.includes(error.code as Code));
}
