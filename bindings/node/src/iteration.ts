// An iteration over what a handle gives. It ends where the handle ends, at closed, or by return(). Any
// other error leaves it as it was: after a timeout or an abort the next next() continues.
import { isCode } from './error.js';

export class Iteration<T> implements AsyncIterableIterator<T> {
  readonly #take: () => Promise<T>;
  readonly #leave: (() => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;

  /** @internal `leave`: for what is left when a loop ends early. */
  constructor(take: () => Promise<T>, leave?: () => void) {
    this.#take = take;
    this.#leave = leave;
  }

  /** The next one. A call beside another is its successor. */
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
      if (!isCode(error, 'closed')) throw error;
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
