// An iteration over the items of a handle. It ends at closed or with return(). Other errors do not end it: after a
// timeout or an abort, next() can be called again.
import { isLapwingError } from './error.js';

export class Iteration<T> implements AsyncIterableIterator<T> {
  readonly #take: () => Promise<T>;
  readonly #leave: (() => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;

  /** @internal `leave` is called if a loop ends early. */
  constructor(take: () => Promise<T>, leave?: () => void) {
    this.#take = take;
    this.#leave = leave;
  }

  /** Returns the next item. Overlapping calls receive items in the order in which they were made. */
  next(): Promise<IteratorResult<T, undefined>> {
    const result = this.#last.then(() => this.#next());
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    try {
      return { done: false, value: await this.#take() };
    } catch (error) {
      if (!isLapwingError(error, 'closed')) throw error;
      this.#isOver = true;
      return { done: true, value: undefined };
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    if (!this.#isOver) this.#leave?.();
    this.#isOver = true;
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
