// The receiving side of a channel.
import { constants, layouts } from './abi.js';
import { Channel, connected, copiedMessage, type ChannelOptions, type Message, type ReceivedMessage } from './channel.js';
import { check, errorMemory, isCode, misuse } from './error.js';
import { native } from './library.js';
import { Cell, foreign, Struct } from './memory.js';
import type { WaitOptions } from './time.js';

/** A message where it lies, in the producer's memory. A write to it ends the process with SIGSEGV. */
export class UnsafeMessage implements Message {
  readonly type: number;
  readonly #payload: Uint8Array;
  #isLive = true;

  /** @internal */
  constructor(type: number, payload: Uint8Array) {
    this.type = type;
    this.#payload = payload;
  }

  /** Until done(). The producer may change it: what must be checked is copied first. */
  get payload(): Uint8Array {
    if (!this.#isLive) throw misuse('done() has ended this view');
    return this.#payload;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** The view is not used any more; the message can be released. */
  done(): void {
    this.#isLive = false;
  }
}

const ITERATED_MESSAGES = 64;
const MESSAGE = layouts.lapwing_message;

export class Consumer extends Channel {
  #views: UnsafeMessage[] = []; // of the last peek

  static async connect(path: string, options: ChannelOptions & WaitOptions = {}): Promise<Consumer> {
    return new Consumer(await connected(path, 'consumer', options));
  }

  /** @internal */
  constructor(cell: Cell) {
    super(cell, 'consumer');
  }

  /** Copies of up to `max` messages, from the first that is not released on. At least one. */
  async peek(max: number, options: WaitOptions = {}): Promise<ReceivedMessage[]> {
    this.refuseOverlap();
    return await this.waits.wait(() => this.#peek(max, copiedMessage), options);
  }

  /** The same without a wait; none are there: an empty list. */
  tryPeek(max: number): ReceivedMessage[] {
    this.refuseOverlap();
    return this.#peek(max, copiedMessage) ?? [];
  }

  /** The same without a copy. Each message has to be done() before it is released. */
  async unsafePeek(max: number, options: WaitOptions = {}): Promise<UnsafeMessage[]> {
    this.refuseOverlap();
    const messages = await this.waits.wait(() => this.#peek(max, uncopiedMessage), options);
    return (this.#views = messages);
  }

  #peek<M>(max: number, messageAt: (view: DataView, offset: number) => M): M[] | undefined {
    this.#checkViews(this.#views.length);
    const struct = new Struct(MESSAGE, max);
    const count = new Cell();
    const result = native.lapwing_channel_peek(
      this.pointer, struct.bytes, max, 0, count.bytes, errorMemory.bytes,
    );
    if (result === constants.WOULD_BLOCK) return undefined;
    check(result);
    const length = Number(count.value);
    return Array.from({ length }, (_, index) => messageAt(struct.view, index * MESSAGE.bytes));
  }

  /** Gives the first `count` messages of the last peek back to the producer. */
  release(count: number): void {
    this.refuseOverlap();
    this.#checkViews(count);
    check(native.lapwing_channel_release(this.pointer, count, errorMemory.bytes));
    this.#views.splice(0, count);
  }

  #checkViews(count: number): void {
    const live = this.#views.slice(0, count).findIndex((message) => message.isLive);
    if (live >= 0) throw misuse(`message ${live} of the last unsafePeek() has a live view; call its done()`);
  }

  /** The next message, copied and released. */
  async receive(options: WaitOptions = {}): Promise<ReceivedMessage> {
    const [message] = await this.peek(1, options);
    this.release(1);
    return message!;
  }

  /** Messages, released once they were taken, up to 64 together. Ends at closed. */
  async *messages(options: WaitOptions = {}): AsyncGenerator<ReceivedMessage, void, void> {
    for (;;) {
      let messages: ReceivedMessage[];
      try {
        messages = await this.peek(ITERATED_MESSAGES, options);
      } catch (error) {
        if (isCode(error, 'closed')) return;
        throw error;
      }
      let taken = 0;
      try {
        for (const message of messages) {
          ++taken;
          yield message;
        }
      } finally {
        if (this.pointer !== 0n) this.release(taken);
      }
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<ReceivedMessage, void, void> {
    return this.messages();
  }

  override destroy(): void {
    for (const view of this.#views) view.done();
    super.destroy();
  }
}

function uncopiedMessage(view: DataView, offset: number): UnsafeMessage {
  const { payload, bytes, type } = MESSAGE.fields;
  const length = Number(view.getBigUint64(offset + bytes.offset, true));
  return new UnsafeMessage(
    view.getUint32(offset + type.offset, true),
    foreign(view.getBigUint64(offset + payload.offset, true), length),
  );
}
