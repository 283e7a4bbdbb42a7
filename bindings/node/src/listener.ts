// Listens at a path. Each accepted peer has its own channel.
import { constants } from './abi.js';
import { CHANNEL_NAMES, encodedChannelOptions, roleNumber, type ChannelOptions, type Role } from './channel.js';
import { Consumer } from './consumer.js';
import { Duplex } from './duplex.js';
import { check, errorMemory } from './error.js';
import { Handle, openInThread } from './handle.js';
import { native } from './library.js';
import { Cell } from './memory.js';
import { Producer } from './producer.js';
import { checkNames, checkText } from './options.js';
import { checkWait, timeoutNs, type WaitOptions } from './time.js';

export interface ListenerOptions {
  /** The only user to accept. Default: this user and root. */
  peerUid?: number;
}

type AcceptOptions = ChannelOptions & WaitOptions;
const TAKE_OVER_MS = 10_000;
const LISTENER_NAMES: readonly (keyof ListenerOptions)[] = ['peerUid'];

export class Listener extends Handle {
  static open(path: string, options: ListenerOptions = {}): Listener {
    checkText('path', path);
    checkNames('Listener.open', options, LISTENER_NAMES);
    const cell = new Cell();
    const struct = encodedChannelOptions(options);
    check(native.lapwing_listener_open(path, struct.bytes, cell.bytes, errorMemory.bytes));
    return new Listener(cell);
  }

  /**
   * Replaces the listener at `path`, as soon as the old listener calls accept() or tend(). Default timeout: 10 s.
   */
  static async takeOver(path: string, given: ListenerOptions & WaitOptions = {}): Promise<Listener> {
    checkText('path', path);
    checkWait('Listener.takeOver', given, LISTENER_NAMES);
    const { timeout = TAKE_OVER_MS, signal, ...options } = given;
    const struct = encodedChannelOptions(options);
    const cell = await openInThread(
      'lapwing_listener_take_over', 'lapwing_listener_destroy',
      [path, struct.bytes, timeoutNs(timeout)], signal, struct,
    );
    return new Listener(cell);
  }

  private constructor(cell: Cell) {
    super(cell, 'listener', 'lapwing_listener_destroy', 'lapwing_listener_interrupt');
  }

  protected override source() {
    return { fd: () => this.fd, arm: () => true };
  }

  /** Readable when the last call made, accept() or tend(), has work to do. -1 after a successor has taken over. */
  get fd(): number {
    return this.descriptor('lapwing_listener_fd');
  }

  /** Waits for the next peer. `role` is the role of this side. */
  accept(role: 'producer', options?: AcceptOptions): Promise<Producer>;
  accept(role: 'consumer', options?: AcceptOptions): Promise<Consumer>;
  accept(role: 'duplex', options?: AcceptOptions): Promise<Duplex>;
  accept(role: Role, options?: AcceptOptions): Promise<Producer | Consumer | Duplex>;
  async accept(role: Role, given: AcceptOptions = {}): Promise<Producer | Consumer | Duplex> {
    this.refuseOverlap();
    checkWait('accept', given, CHANNEL_NAMES);
    const { timeout, signal, ...options } = given;
    const number = roleNumber(role);
    const struct = encodedChannelOptions(options);
    const cell = new Cell();
    const attempt = () => {
      const result = native.lapwing_listener_accept(
        this.pointer, number, struct.bytes, 0, cell.bytes, errorMemory.bytes,
      );
      if (result === constants.ERROR_WOULD_BLOCK) return undefined;
      check(result);
      return true;
    };
    await this.waits.wait(attempt, {
      ...(timeout !== undefined && { timeout }),
      ...(signal && { signal }),
    });
    if (role === 'producer') return new Producer(cell);
    return role === 'consumer' ? new Consumer(cell) : new Duplex(cell);
  }

  /** Drops silent clients and lets a successor take over. Call it while serving a peer. */
  tend(): void {
    this.refuseOverlap();
    check(native.lapwing_listener_tend(this.pointer, errorMemory.bytes));
  }
}
