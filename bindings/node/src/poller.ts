// Waits for descriptors outside Node.js's event loop, with one poll(2) on a thread of libuv's pool for
// any number of descriptors. An eventfd ends the poll when the set of descriptors changes. No poll runs while nothing
// is waiting, so that the process can end.
import koffi from 'koffi';

const libc = koffi.load(null);
const poll = libc.func('poll', 'int', ['void *', 'unsigned long', 'int']);
const eventfd = libc.func('eventfd', 'int', ['unsigned int', 'int']);
const read = libc.func('read', 'int64_t', ['int', 'void *', 'size_t']);
const write = libc.func('write', 'int64_t', ['int', 'void *', 'size_t']);

const POLLIN = 1;
const EFD_CLOEXEC_NONBLOCK = 0o2004000;
const POLLFD_BYTES = 8; // 32 bits fd, 16 bits requested events, 16 bits returned events
const POLL_MS_MAX = 1000; // limits how long a poll can outlive the thread that started it

interface Entry {
  readonly fd: number;
  readonly ready: () => void;
}

const entries = new Set<Entry>();
const counter = new Uint8Array(new BigUint64Array([1n]).buffer);
let wakeUp = -1;
let polling = false;

/** Calls `ready` from the event loop once `fd` is readable. Returns a function that cancels this. */
export function whenReadable(fd: number, ready: () => void): () => void {
  const entry: Entry = { fd, ready };
  entries.add(entry);
  if (polling) wake();
  else start();
  return () => {
    // Without entries, end the poll: it would keep the process alive.
    if (entries.delete(entry) && entries.size === 0) wake();
  };
}

/** Returns whether `fd` is readable now. */
export function isReadable(fd: number): boolean {
  const set = new Int32Array([fd, POLLIN]);
  return poll(new Uint8Array(set.buffer), 1, 0) > 0;
}

function wake(): void {
  if (polling) write(wakeUp, counter, counter.length);
}

function start(): void {
  if (wakeUp < 0) {
    wakeUp = eventfd(0, EFD_CLOEXEC_NONBLOCK);
    if (wakeUp < 0) throw new Error(`eventfd failed with errno ${koffi.errno()}`);
    process.on('exit', wake); // otherwise the exit would wait for the poll
  }
  const polled = [...entries];
  const set = new Int32Array(2 * (polled.length + 1));
  const bytes = new Uint8Array(set.buffer);
  [wakeUp, ...polled.map(({ fd }) => fd)].forEach((fd, index) => {
    set[2 * index] = fd;
    set[2 * index + 1] = POLLIN;
  });
  polling = true;
  poll.async(bytes, polled.length + 1, POLL_MS_MAX, (error: unknown) => {
    polling = false;
    if (error) throw error;
    const isReady = (index: number) => set[2 * index + 1]! >>> 16 !== 0;
    if (isReady(0)) read(wakeUp, new Uint8Array(POLLFD_BYTES), POLLFD_BYTES);
    const ready = polled.filter((entry, index) => isReady(index + 1) && entries.delete(entry));
    for (const entry of ready) entry.ready();
    if (entries.size > 0 && !polling) start();
  });
}
