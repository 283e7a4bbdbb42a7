// The receiving side of a channel.
import { constants, layouts } from './abi.js';
import { Channel, connected, copiedMessage, type ChannelOptions, type Message, type ReceivedMessage } from './channel.js';
import { check, errorMemory, invalid, misuse } from './error.js';
import { Iteration } from './iteration.js';
import { native } from './library.js';
import { Cell, foreign, Struct } from './memory.js';
import { shown } from './options.js';
import { checkWait, type WaitOptions } from './time.js';

/**
 * A message in the producer's memory. A write to it ends the process with SIGSEGV. The memory stays mapped as long as
 * an array over it is in use, even after the consumer's destroy().
 */
export class UnsafeMessage implements Message {
  readonly type: number;
  readonly #payload: Uint8Array;
  #isLive = true;

  /** @internal */
  constructor(type: number, payload: Uint8Array) {
    this.type = type;
    this.#payload = payload;
  }

  /** Available until done(). The producer may change it, so copy it before you validate it. */
  get payload(): Uint8Array {
    if (!this.#isLive) throw misuse('done() has ended this view');
    return this.#payload;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Ends the view, so that the message can be released. */
  done(): void {
    this.#isLive = false;
  }
}

const ITERATED_MESSAGES = 64;
const MESSAGE = layouts.lapwing_message;

export class Consumer extends Channel {
  #views: UnsafeMessage[] = []; // views of the last unsafePeek()
  #messages = new Struct(MESSAGE, 1); // grows
  readonly #count = new Cell();

  static async connect(path: string, options: ChannelOptions & WaitOptions = {}): Promise<Consumer> {
    return new Consumer(await connected(path, 'consumer', options));
  }

  /** @internal */
  constructor(cell: Cell) {
    super(cell, 'consumer');
  }

  /** Returns copies of up to `max` messages, starting with the oldest unreleased one. Waits for at least one. */
  async peek(max: number, options: WaitOptions = {}): Promise<ReceivedMessage[]> {
    this.refuseOverlap();
    checkWait('peek', options);
    return await this.waits.wait(() => this.#peek(max, copiedMessage), options);
  }

  /** The same without waiting. Returns an empty array if no message is available. */
  tryPeek(max: number): ReceivedMessage[] {
    this.refuseOverlap();
    return this.#peek(max, copiedMessage) ?? [];
  }

  /** The same without copying. Call done() on each message before you release it. */
  async unsafePeek(max: number, options: WaitOptions = {}): Promise<UnsafeMessage[]> {
    this.refuseOverlap();
    checkWait('unsafePeek', options);
    const messageAt = (view: DataView, offset: number) => uncopiedMessage(view, offset, this.lease);
    const attempt = () => {
      const messages = this.#peek(max, messageAt);
      if (messages) this.#views = messages;
      return messages;
    };
    return await this.waits.wait(attempt, options);
  }

  #peek<M>(max: number, messageAt: (view: DataView, offset: number) => M): M[] | undefined {
    this.#checkViews(this.#views.length);
    if (!(Number.isInteger(max) && max >= 0)) throw invalid(`max is ${shown(max)}. Give a whole number of messages`);
    if (max * MESSAGE.bytes > this.#messages.bytes.length) this.#messages = new Struct(MESSAGE, max);
    const { bytes, view } = this.#messages;
    const result = native.lapwing_channel_peek(
      this.pointer, bytes, max, 0, this.#count.bytes, errorMemory.bytes,
    );
    if (result === constants.ERROR_WOULD_BLOCK) return undefined;
    check(result);
    const length = Number(this.#count.value);
    const messages: M[] = [];
    for (let index = 0; index < length; ++index) messages.push(messageAt(view, index * MESSAGE.bytes));
    return messages;
  }

  /** Releases the first `count` messages of the last peek to the producer. */
  release(count: number): void {
    this.refuseOverlap();
    this.#checkViews(count);
    check(native.lapwing_channel_release(this.pointer, count, errorMemory.bytes));
    if (this.#views.length > 0) this.#views.splice(0, count);
  }

  #checkViews(count: number): void {
    if (this.#views.length === 0) return;
    const live = this.#views.slice(0, count).findIndex((message) => message.isLive);
    if (live >= 0) throw misuse(`message ${live} of the last unsafePeek() has a live view; call its done()`);
  }

  /** Copies and releases the next message. */
  async receive(options: WaitOptions = {}): Promise<ReceivedMessage> {
    const [message] = await this.peek(1, options);
    this.release(1);
    return message!;
  }

  /**
   * Iterates over copies of messages, and releases them in groups of up to 64 after the loop has
   * taken them. Ends at closed. After a timeout or an abort, call next() again: no message is lost.
   */
  messages(options: WaitOptions = {}): AsyncIterableIterator<ReceivedMessage> {
    checkWait('messages', options);
    let messages: ReceivedMessage[] = [];
    let taken = 0;
    const release = () => {
      if (taken > 0 && this.pointer !== 0n) this.release(taken);
      messages = [];
      taken = 0;
    };
    return new Iteration(async () => {
      if (taken === messages.length) {
        release();
        messages = await this.peek(ITERATED_MESSAGES, options);
      }
      return messages[taken++]!;
    }, release);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ReceivedMessage> {
    return this.messages();
  }

  override destroy(): void {
    for (const view of this.#views) view.done();
    native.lapwing_channel_close(this.pointer, errorMemory.bytes); // allowed while messages are borrowed
    super.destroy();
  }
}

function uncopiedMessage(view: DataView, offset: number, lease: object): UnsafeMessage {
  const { payload, bytes, type } = MESSAGE.fields;
  const length = Number(view.getBigUint64(offset + bytes.offset, true));
  return new UnsafeMessage(
    view.getUint32(offset + type.offset, true),
    foreign(view.getBigUint64(offset + payload.offset, true), length, lease),
  );
}
