// The sending side of a channel.
import { constants } from './abi.js';
import { Channel, connected, listOf, type ChannelOptions, type Message } from './channel.js';
import { check, errorMemory, misuse } from './error.js';
import { native } from './library.js';
import { Cell, copyTo } from './memory.js';
import { checkWait, type WaitOptions } from './time.js';

/** Room for one message. */
export class Claim {
  readonly #payload: Uint8Array;
  readonly #end: (send: { bytes: number; type: number } | undefined) => void;
  #isOpen = true;

  /** @internal */
  constructor(payload: Uint8Array, end: (send: { bytes: number; type: number } | undefined) => void) {
    this.#payload = payload;
    this.#end = end;
  }

  /** The claimed bytes, to be written before commit(). The next claim reuses this memory. */
  get payload(): Uint8Array {
    if (!this.#isOpen) throw misuse('the claim has ended: it was committed, aborted or followed by another');
    return this.#payload;
  }

  /** @internal */
  close(): void {
    this.#isOpen = false;
  }

  /** Sends the first `bytes` of the payload, by default all. */
  commit(type: number, bytes = this.payload.length): void {
    this.#end({ bytes, type });
  }

  abort(): void {
    this.#end(undefined);
  }
}

export class Producer extends Channel {
  #claim: Claim | undefined;
  readonly #address = new Cell(); // address of the claim in the channel's memory
  #room = new Uint8Array(0); // the program's copy of the claim, which commit() copies to #address; grows

  static async connect(path: string, options: ChannelOptions & WaitOptions = {}): Promise<Producer> {
    return new Producer(await connected(path, 'producer', options));
  }

  /** @internal */
  constructor(cell: Cell) {
    super(cell, 'producer');
  }

  /** Returns room for a message of up to `bytes`, until commit, abort or the next claim. */
  async claim(bytes: number, options: WaitOptions = {}): Promise<Claim> {
    this.refuseOverlap();
    checkWait('claim', options);
    return await this.waits.wait(() => this.#tryClaim(bytes), options, { bytes });
  }

  /** The same without waiting. Returns undefined if there is no room now. */
  tryClaim(bytes: number): Claim | undefined {
    this.refuseOverlap();
    return this.#tryClaim(bytes);
  }

  #tryClaim(bytes: number): Claim | undefined {
    this.#drop();
    const result = native.lapwing_channel_claim(this.pointer, bytes, 0, this.#address.bytes, errorMemory.bytes);
    if (result === constants.ERROR_WOULD_BLOCK) return undefined;
    check(result);
    if (this.#room.length < bytes) this.#room = new Uint8Array(new ArrayBuffer(bytes));
    const claim: Claim = new Claim(this.#room.subarray(0, bytes), (send) => this.#end(claim, send));
    return (this.#claim = claim);
  }

  #end(claim: Claim, send: { bytes: number; type: number } | undefined): void {
    this.refuseOverlap();
    if (this.#claim !== claim) throw misuse('the claim was ended before');
    if (send) this.#fill(claim.payload, send.bytes);
    check(
      send
        ? native.lapwing_channel_commit(this.pointer, send.bytes, send.type, errorMemory.bytes)
        : native.lapwing_channel_abort(this.pointer, errorMemory.bytes),
    );
    this.#drop();
  }

  #fill(payload: Uint8Array, bytes: number): void {
    if (!(bytes >= 0 && bytes <= payload.length)) {
      throw misuse(`the claim is of ${payload.length} bytes; ${bytes} cannot be committed`);
    }
    copyTo(this.#address.value, payload, bytes);
  }

  #drop(): void {
    this.#claim?.close();
    this.#claim = undefined;
  }

  /** Copies as many messages into the channel as fit now. Returns their number. */
  trySend(messages: Message | readonly Message[]): number {
    this.refuseOverlap();
    this.#drop();
    return this.sendSome(listOf(messages));
  }

  /** Sends all messages, waiting for room. On failure, the error's `sent` is the number of messages sent. */
  async send(messages: Message | readonly Message[], options: WaitOptions = {}): Promise<number> {
    this.refuseOverlap();
    checkWait('send', options);
    this.#drop();
    return await this.sendAll(listOf(messages), options);
  }

  /** Waits until the consumer has released everything. */
  async drain(options: WaitOptions = {}): Promise<void> {
    this.refuseOverlap();
    checkWait('drain', options);
    await this.waitInThread('lapwing_channel_drain', [], options);
  }

  override destroy(): void {
    this.#drop();
    super.destroy();
  }
}
