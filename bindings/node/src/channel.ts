// One side of a channel: the common base of producers, consumers and duplexes.
import { constants, layouts, type ChannelInfo as RawChannelInfo } from './abi.js';
import { check, errorMemory, invalid, LapwingError } from './error.js';
import { Handle, openInThread } from './handle.js';
import { native } from './library.js';
import { addressOf, Cell, copied, defaultOptions, Struct } from './memory.js';
import { checkBytes, checkText, flagOf, shown, wordOf } from './options.js';
import { checkWait, durationNs, timeoutNs, type WaitOptions } from './time.js';
import type { Again } from './waits.js';

export type Role = 'producer' | 'consumer' | 'duplex';

/** Options of one side. Sizes apply to sent messages; a consumer ignores them. */
export interface ChannelOptions {
  /** Name of this side, shown by `lapwing info`. */
  name?: string;
  /** Bytes, a power of two. Default: 1 MiB. */
  capacity?: number;
  /** Size limit of one message. Default: 64 KiB. */
  messageBytesMax?: number;
  /** Limit on accepted unanswered calls, and on untaken one-way messages. Default: 64. */
  callWindow?: number;
  /** Strategy for waits on another thread. Default: backoff. */
  wait?: 'busy' | 'backoff' | 'park';
  /** The only user to accept or to connect to. */
  peerUid?: number;
  /** Allocate this side's memory on that node, or fail. */
  numaNode?: number;
  /** For connect: how long to retry while there is no listener. Default: 0; Infinity: until the timeout. */
  retryMs?: number;
  /** Align payloads to 64 bytes; otherwise to 16, and payloads of 49 to 56 bytes to 8. */
  aligned?: boolean;
  /** Use huge pages, or fail. */
  hugePages?: boolean;
  /** Use a fence for each message instead of a system call. */
  noMembarrier?: boolean;
  /** Deliver replies that arrive after the end of their call, marked as late. */
  lateReplies?: boolean;
}

export interface Message {
  /** Defined by the sender. */
  readonly type: number;
  readonly payload: Uint8Array;
}

/** A copy of a message that arrived. */
export interface ReceivedMessage extends Message {
  readonly payload: Buffer;
}

export interface ChannelInfo extends Omit<RawChannelInfo, 'role'> {
  readonly role: Role;
}

const ROLES: Readonly<Record<Role, number>> = {
  producer: constants.CHANNEL_ROLE_PRODUCER,
  consumer: constants.CHANNEL_ROLE_CONSUMER,
  duplex: constants.CHANNEL_ROLE_DUPLEX,
};
const WAIT = {
  busy: constants.WAIT_BUSY,
  backoff: constants.WAIT_BACKOFF,
  park: constants.WAIT_PARK,
};
const CONNECT_MS = 10_000;

export const roleNumber = (role: Role) => wordOf('role', role ?? null, ROLES)!;

export const CHANNEL_NAMES: readonly (keyof ChannelOptions)[] = [
  'name', 'capacity', 'messageBytesMax', 'callWindow', 'wait', 'peerUid', 'numaNode', 'retryMs', 'aligned',
  'hugePages', 'noMembarrier', 'lateReplies',
];

export function encodedChannelOptions(options: ChannelOptions): Struct {
  return defaultOptions(layouts.lapwing_channel_options, 'lapwing_channel_options_init').set({
    flags:
      flagOf('aligned', options.aligned, constants.CHANNEL_ALIGNED) |
      flagOf('hugePages', options.hugePages, constants.CHANNEL_HUGE_PAGES) |
      (options.numaNode !== undefined ? constants.CHANNEL_NUMA : 0) |
      (options.peerUid !== undefined ? constants.CHANNEL_PEER_UID : 0) |
      flagOf('noMembarrier', options.noMembarrier, constants.CHANNEL_NO_MEMBARRIER) |
      flagOf('lateReplies', options.lateReplies, constants.CHANNEL_LATE_REPLIES),
    name: options.name,
    capacity: options.capacity,
    message_bytes_max: options.messageBytesMax,
    call_window: options.callWindow,
    wait: wordOf('wait', options.wait, WAIT),
    numa_node: options.numaNode,
    peer_uid: options.peerUid,
    retry_ns: durationNs('retryMs', options.retryMs),
  });
}

/** Connects to a listener. Default timeout: 10 s. */
export async function connected(
  path: string,
  role: Role,
  given: ChannelOptions & WaitOptions,
): Promise<Cell> {
  checkText('path', path);
  checkWait('connect', given, CHANNEL_NAMES);
  const { timeout = CONNECT_MS, signal, ...options } = given;
  const struct = encodedChannelOptions(options);
  return await openInThread(
    'lapwing_channel_connect', 'lapwing_channel_destroy',
    [path, ROLES[role], struct.bytes, timeoutNs(timeout)], signal, struct,
  );
}

export abstract class Channel extends Handle {
  protected constructor(cell: Cell, role: Role) {
    super(cell, role, 'lapwing_channel_destroy', 'lapwing_channel_interrupt');
  }

  protected override source() {
    return { fd: () => this.fd, arm: (bytes: number) => this.#arm(bytes) };
  }

  /** Descriptor for another library's event loop, to be used after arm(). -1 if closed. */
  get fd(): number {
    return this.descriptor('lapwing_channel_fd');
  }

  /**
   * Returns true if nothing has arrived or, for a producer, `bytes` do not fit. `fd` then becomes
   * readable when that may have changed. This is valid until the next call. False: try at once.
   */
  arm(bytes = 0): boolean {
    this.refuseOverlap();
    return this.#arm(bytes);
  }

  #arm(bytes: number): boolean {
    const armed = new Int32Array(new ArrayBuffer(4));
    check(native.lapwing_channel_arm(
      this.pointer, bytes, new Uint8Array(armed.buffer), errorMemory.bytes,
    ));
    return armed[0] !== 0;
  }

  inspect(): ChannelInfo {
    const struct = new Struct(layouts.lapwing_channel_info);
    check(native.lapwing_channel_inspect(this.pointer, struct.bytes, errorMemory.bytes));
    this.waits.disturb();
    const info = struct.read() as unknown as RawChannelInfo;
    const role = (Object.keys(ROLES) as Role[]).find((name) => ROLES[name] === info.role)!;
    return { ...info, role };
  }

  /** Copies as many messages into the channel as fit now. Returns their number. */
  protected sendSome(messages: readonly Message[]): number {
    const sent = new Cell();
    const { list, kept } = messageList(messages);
    const result = native.lapwing_channel_send(
      this.pointer, list, messages.length, 0, sent.bytes, errorMemory.bytes,
    );
    void kept;
    const count = Number(sent.value);
    if (result === constants.OK || result === constants.ERROR_WOULD_BLOCK) return count;
    throw Object.assign(errorMemory.thrown(result), { sent: count });
  }

  /** Copies all messages, waiting for room. */
  protected async sendAll(
    messages: readonly Message[],
    options: WaitOptions,
    again?: Again,
  ): Promise<number> {
    let sent = 0;
    const attempt = () => {
      try {
        sent += this.sendSome(messages.slice(sent));
      } catch (error) {
        if (error instanceof LapwingError) sent += error.sent ?? 0;
        throw error;
      }
      return sent === messages.length ? sent : undefined;
    };
    const bytes = Math.max(0, ...messages.map(({ payload }) => payload.length));
    try {
      return await this.waits.wait(attempt, options, { bytes, again });
    } catch (error) {
      throw error instanceof LapwingError ? Object.assign(error, { sent }) : error;
    }
  }

  /** Ends the channel and notifies the other side at once. Waits on this side end with closed. Idempotent. */
  close(): void {
    check(native.lapwing_channel_close(this.pointer, errorMemory.bytes));
    this.waits.end(new LapwingError(constants.ERROR_CLOSED, 'the channel was closed by this side'));
  }
}

/** Messages for a call into C. Payloads are copied to memory that does not move. */
export function messageList(messages: readonly Message[]): { list: Uint8Array; kept: unknown } {
  for (const { payload } of messages) checkBytes('payload', payload);
  const payloads = new Uint8Array(new ArrayBuffer(messages.reduce((sum, { payload }) => sum + payload.length, 0)));
  const struct = new Struct(layouts.lapwing_message, messages.length);
  let address = addressOf(payloads);
  let at = 0;
  messages.forEach(({ type, payload }, index) => {
    payloads.set(payload, at);
    struct.set({ payload: address, bytes: payload.length, type }, index);
    address += BigInt(payload.length);
    at += payload.length;
  });
  return { list: struct.bytes, kept: payloads };
}

export function listOf(messages: Message | readonly Message[]): readonly Message[] {
  const isObject = typeof messages === 'object' && messages !== null;
  const list = isObject && 'payload' in messages ? [messages] : messages;
  if (Array.isArray(list) && list.every((message) => typeof message === 'object' && message !== null)) return list;
  throw invalid(`a message is ${shown(messages)}. Give { type, payload }, or an array of them`);
}

/** Copies the message that the lapwing_message at `offset` in `view` describes. */
export function copiedMessage(view: DataView, offset = 0): ReceivedMessage {
  const { payload, bytes, type } = layouts.lapwing_message.fields;
  const length = Number(view.getBigUint64(offset + bytes.offset, true));
  return {
    type: view.getUint32(offset + type.offset, true),
    payload: copied(view.getBigUint64(offset + payload.offset, true), length),
  };
}
