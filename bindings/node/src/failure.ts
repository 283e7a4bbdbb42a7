// The error type of this package.
import { constants } from './abi.js';
import { native } from './library.js';

type Dashed<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}-${Dashed<Tail>}` : Name;
type CodeOf<Constant> = Constant extends `ERROR_${infer Name}` ? Lowercase<Dashed<Name>> : never;

/** 'timed-out', 'no-bus' …: the names of lapwing.h. 'unknown': a number of a newer library. */
export type ErrorCode = CodeOf<keyof typeof constants> | 'unknown';

/** The error of a failed call of Lapwing. */
export class LapwingError extends Error {
  override readonly name = 'LapwingError';
  /** errno of the failed system call; 0 if none failed. */
  readonly errno: number;
  /** 'timed-out', 'no-bus' … */
  readonly code: ErrorCode;
  /** The same, as the number in lapwing.h. */
  readonly number: number;
  /** For publish: the last sequence that was published; 0n if none was. */
  declare last?: bigint;
  /** For send: how many messages were sent. */
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

/** 'timed-out'; 'unknown' for a number without a name. */
export function errorName(number: number): ErrorCode | 'ok' {
  let name = names.get(number);
  if (name === undefined) names.set(number, (name = native.lapwing_error_name(number) as ErrorCode));
  return name;
}

export const misuse = (message: string) => new LapwingError(constants.ERROR_MISUSE, message);
export const invalid = (message: string) =>
  new LapwingError(constants.ERROR_INVALID_ARGUMENT, message);

/** Whether `error` is a LapwingError with one of the codes, or with any code if none is given. */
export function isLapwingError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  ...codes: Code[]
): error is LapwingError & { readonly code: Code } {
  return error instanceof LapwingError && (codes.length === 0 || codes.includes(error.code as Code));
}
