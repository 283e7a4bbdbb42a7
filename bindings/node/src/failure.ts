// The error type of this package.
import { constants } from './abi.js';
import { native } from './library.js';

/** The names of results: 'timed-out', 'no-bus' … */
export type ErrorCode = string;

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
    this.code = errorName(number);
    this.errno = errno;
  }
}

const names = new Map<number, string>();

/** 'timed-out'; 'unknown' for a number without a name. */
export function errorName(number: number): string {
  let name = names.get(number);
  if (name === undefined) names.set(number, (name = native.lapwing_error_name(number) as string));
  return name;
}

export const misuse = (message: string) => new LapwingError(constants.ERROR_MISUSE, message);
export const invalid = (message: string) =>
  new LapwingError(constants.ERROR_INVALID_ARGUMENT, message);

export function isCode(error: unknown, code: ErrorCode): error is LapwingError {
  return error instanceof LapwingError && error.code === code;
}
