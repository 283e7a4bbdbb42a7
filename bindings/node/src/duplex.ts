// Calls and one-way messages in both directions. Any number of calls may be pending while a server
// waits for the next request: all waits share the handle (waits.ts).
import { constants, layouts } from './abi.js';
import {
  Channel, connected, copiedMessage, listOf, messageList, type ChannelOptions, type Message,
  type ReceivedMessage,
} from './channel.js';
import { check, errorMemory, isLapwingError, misuse, type LapwingError } from './error.js';
import { native } from './library.js';
import { Cell, Struct } from './memory.js';
import { Iteration } from './iteration.js';
import { checkNames, checkSignal } from './options.js';
import { checkWait, msUntil, type WaitOptions } from './time.js';

/** A call or a one-way message from the other side. */
export interface Incoming extends ReceivedMessage {
  /** Identifies the call in a reply. 0n: a one-way message, which has no reply. */
  readonly call: bigint;
}

/** The reply to a call. */
export interface Reply extends ReceivedMessage {
  readonly call: bigint;
  /** The reply arrived after the call had ended. */
  readonly isLate: boolean;
  /** The error with which the other side answered, or undefined. */
  readonly error: { readonly code: number; readonly text: string } | undefined;
}

/** The other side answered call() with an error. */
export class CallError extends Error {
  override readonly name = 'CallError';
  /** Defined by the server. */
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

interface End {
  readonly call: bigint;
  readonly reply?: Reply;
  readonly failure?: LapwingError;
}

const REPLY = layouts.lapwing_reply.fields;
const REQUEST = layouts.lapwing_request.fields;
const ROOM_MS = 1; // retry interval, since the descriptor does not signal room to send

const roomSoon = () => ROOM_MS;

export class Duplex extends Channel {
  readonly #reply = new Struct(layouts.lapwing_reply);
  readonly #request = new Struct(layouts.lapwing_request);
  readonly #deadlines = new Map<bigint, number>(); // of pending calls, in terms of performance.now()
  readonly #ended = new Map<bigint, End>(); // ended calls that were taken on behalf of another finish()
  readonly #wanted = new Set<bigint>(); // calls that a finish() waits for
  #endCount = 0; // number of calls that have ended
  #isNextWaiting = false;

  static async connect(path: string, options: ChannelOptions & WaitOptions = {}): Promise<Duplex> {
    return new Duplex(await connected(path, 'duplex', options));
  }

  /** @internal */
  constructor(cell: Cell) {
    super(cell, 'duplex');
  }

  /** Sends a request and resolves with its reply, or rejects with CallError. An abort cancels the call. */
  async call(request: Message, waits: WaitOptions = {}): Promise<Reply> {
    checkWait('call', waits);
    const { timeout, signal } = waits;
    const options = { ...(timeout !== undefined && { timeout }), ...(signal && { signal }) };
    const call = await this.start(request, options);
    try {
      const reply = await this.finish(call, signal ? { signal } : {});
      if (reply.error) throw new CallError(reply.error.code, reply.error.text);
      return reply;
    } catch (error) {
      if (signal?.aborted && this.#deadlines.has(call)) await this.cancel(call);
      throw error;
    }
  }

  /** Sends a request. Its reply must arrive within the timeout. Resolves with the call's number. */
  async start(request: Message, options: WaitOptions = {}): Promise<bigint> {
    checkWait('start', options);
    const { list, kept } = messageList([request]);
    const call = new Cell();
    const { timeout = Infinity } = options;
    const deadline = performance.now() + timeout;
    for (let left = timeout; ; left = msUntil(deadline)) {
      const endCount = this.#endCount;
      try {
        await this.whenIdle(async () => {
          await this.waitInThread(
            'lapwing_channel_start', [list], { ...options, timeout: left }, [call.bytes],
          );
          this.#deadlines.set(call.value, deadline);
        });
        void kept;
        return call.value;
      } catch (error) {
        // While a start waits in its thread, replies are not taken. It fails with misuse when they
        // fill all slots for calls.
        if (!isLapwingError(error, 'misuse') || this.pointer === 0n) throw error;
        await this.whenIdle(() => this.#takeEnds());
        if (this.#endCount === endCount) throw error;
      }
    }
  }

  /** Takes the calls that have ended and stores them for their finish(). */
  #takeEnds(): void {
    while (this.#deadlines.size > 0) {
      const end = this.#nextEnd();
      if (end === undefined) break;
      this.#ended.set(end.call, end);
    }
    this.waits.disturb();
  }

  /** Waits for the reply to that call, at most until the call's own timeout. */
  async finish(call: bigint, options: Pick<WaitOptions, 'signal'> = {}): Promise<Reply> {
    checkNames('finish', options, ['signal']);
    checkSignal(options.signal);
    if (!this.#deadlines.has(call) && !this.#ended.has(call)) throw misuse(`there is no call ${call}`);
    if (this.#wanted.has(call)) throw misuse(`another finish() waits for call ${call}`);
    this.#wanted.add(call);
    try {
      const again = () => this.#untilDeadline();
      return this.#replyOf(await this.waits.wait(() => this.#endOf(call), options, { again }));
    } finally {
      this.#wanted.delete(call);
    }
  }

  /** Waits for the next call to end, or for a late reply. */
  async finishAny(options: WaitOptions = {}): Promise<Reply> {
    checkWait('finishAny', options);
    const again = () => this.#untilDeadline();
    return this.#replyOf(await this.waits.wait(() => this.#anyEnd(), options, { again }));
  }

  #replyOf(end: End): Reply {
    if (end.failure) throw Object.assign(end.failure, { call: end.call });
    return end.reply!;
  }

  #untilDeadline(): number {
    return Math.max(ROOM_MS, Math.min(...this.#deadlines.values()) - performance.now());
  }

  #anyEnd(): End | undefined {
    for (const end of this.#ended.values()) {
      if (!this.#wanted.has(end.call)) return this.#taken(end);
    }
    for (;;) {
      const end = this.#nextEnd();
      if (end === undefined || !this.#wanted.has(end.call)) return end;
      this.#ended.set(end.call, end);
      this.waits.disturb();
    }
  }

  #endOf(call: bigint): End | undefined {
    for (;;) {
      const end = this.#ended.get(call);
      if (end) return this.#taken(end);
      const next = this.#nextEnd();
      if (next === undefined) return undefined;
      this.#ended.set(next.call, next);
      if (next.call !== call) this.waits.disturb();
    }
  }

  #taken(end: End): End {
    this.#ended.delete(end.call);
    return end;
  }

  #nextEnd(): End | undefined {
    const { view, bytes } = this.#reply;
    view.setBigUint64(REPLY.call.offset, 0n, true);
    const result = native.lapwing_channel_finish_any(this.pointer, 0, bytes, errorMemory.bytes);
    const call = view.getBigUint64(REPLY.call.offset, true);
    if (result === constants.ERROR_WOULD_BLOCK && call === 0n) return undefined;
    if (call === 0n) throw errorMemory.thrown(result);
    ++this.#endCount;
    this.#deadlines.delete(call);
    if (result !== constants.OK) return { call, failure: errorMemory.thrown(result) };
    const message = copiedMessage(view, REPLY.message.offset);
    const isError = view.getUint32(REPLY.is_error.offset, true) !== 0;
    const code = view.getUint32(REPLY.code.offset, true);
    return {
      call,
      reply: {
        ...message,
        call,
        isLate: view.getUint32(REPLY.is_late.offset, true) !== 0,
        error: isError ? { code, text: message.payload.toString() } : undefined,
      },
    };
  }

  /** Ends a call without a reply. */
  async cancel(call: bigint): Promise<void> {
    await this.whenIdle(() => {
      this.#deadlines.delete(call);
      check(native.lapwing_channel_cancel(this.pointer, call, errorMemory.bytes));
      this.waits.disturb();
    });
  }

  /** Waits for the next call or one-way message from the other side. */
  async next(options: WaitOptions = {}): Promise<Incoming> {
    checkWait('next', options);
    if (this.#isNextWaiting) throw misuse('another next() of this duplex is waiting');
    this.#isNextWaiting = true;
    try {
      return await this.waits.wait(() => this.#next(), options);
    } finally {
      this.#isNextWaiting = false;
    }
  }

  #next(): Incoming | undefined {
    const { view, bytes } = this.#request;
    const result = native.lapwing_channel_next(this.pointer, 0, bytes, errorMemory.bytes);
    if (result === constants.ERROR_WOULD_BLOCK) return undefined;
    check(result);
    const call = view.getBigUint64(REQUEST.call.offset, true);
    return { ...copiedMessage(view, REQUEST.message.offset), call };
  }

  /** Answers a call that next() returned, in any order. */
  async reply(call: bigint, message: Message, options: WaitOptions = {}): Promise<void> {
    const { list, kept } = messageList([message]);
    const reply = new Struct(layouts.lapwing_reply).set({ call });
    reply.bytes.set(list, REPLY.message.offset);
    await this.#answer(reply, options);
    void kept;
  }

  /** Answers a call with an error. The server defines the meaning of `code`. */
  async replyError(call: bigint, code: number, text: string, options: WaitOptions = {}): Promise<void> {
    const { list, kept } = messageList([{ type: 0, payload: Buffer.from(text) }]);
    const reply = new Struct(layouts.lapwing_reply).set({ call, is_error: 1, code });
    reply.bytes.set(list, REPLY.message.offset);
    await this.#answer(reply, options);
    void kept;
  }

  async #answer(reply: Struct, options: WaitOptions): Promise<void> {
    checkWait('reply', options);
    const attempt = () => {
      const result = native.lapwing_channel_reply(this.pointer, reply.bytes, 0, errorMemory.bytes);
      if (result === constants.ERROR_WOULD_BLOCK) return undefined;
      check(result);
      return true;
    };
    await this.waits.wait(attempt, options, { again: roomSoon });
    this.waits.disturb();
  }

  /** Sends one-way messages. On failure, the error's `sent` is the number of messages sent. */
  async send(messages: Message | readonly Message[], options: WaitOptions = {}): Promise<number> {
    checkWait('send', options);
    const sent = await this.sendAll(listOf(messages), options, roomSoon);
    this.waits.disturb();
    return sent;
  }

  /** Iterates over the other side's requests. Ends at closed. After a timeout or an abort, call next() again. */
  requests(options: WaitOptions = {}): AsyncIterableIterator<Incoming> {
    checkWait('requests', options);
    return new Iteration(() => this.next(options));
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Incoming> {
    return this.requests();
  }
}
