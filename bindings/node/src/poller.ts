// Waits for descriptors beside Node.js's event loop: one poll(2) on a thread of libuv's pool, whatever
// the number of descriptors. A descriptor of its own ends the poll when the set changes. While nothing
// is waited for there is no poll, so that the process can end.
import koffi from 'koffi';

const libc = koffi.load(null);
const poll = libc.func('poll', 'int', ['void *', 'unsigned long', 'int']);
const eventfd = libc.func('eventfd', 'int', ['unsigned int', 'int']);
const read = libc.func('read', 'int64_t', ['int', 'void *', 'size_t']);
const write = libc.func('write', 'int64_t', ['int', 'void *', 'size_t']);

const POLLIN = 1;
const EFD_CLOEXEC_NONBLOCK = 0o2004000;
const POLLFD_BYTES = 8; // fd, then 16 bits of what is asked for and 16 of what there is
const POLL_MS_MAX = 1000; // no poll outlives its thread for longer, however the thread ends

interface Entry {
  readonly fd: number;
  readonly ready: () => void;
}

const entries = new Set<Entry>();
const counter = new Uint8Array(new BigUint64Array([1n]).buffer);
let wakeUp = -1;
let polling = false;

/** Calls `ready` once `fd` is readable, from the event loop. Returns what takes that back. */
export function whenReadable(fd: number, ready: () => void): () => void {
  const entry: Entry = { fd, ready };
  entries.add(entry);
  if (polling) wake();
  else start();
  return () => {
    // The last one: the poll would keep the process from ending.
    if (entries.delete(entry) && entries.size === 0) wake();
  };
}

/** Whether `fd` is readable now. */
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
    process.on('exit', wake); // or the exit would wait for the poll
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
