// The log lines of all publishers in this process. The library's threads cannot call JavaScript, so
// the library queues up to 256 lines, which are read here every 100 ms.
import { constants } from './abi.js';
import { check } from './error.js';
import { native } from './library.js';
import { Cell, textAt } from './memory.js';

const LINE_BYTES_MAX = 4096;
const READ_MS = 100;

let timer: NodeJS.Timeout | undefined;
let deliver: (() => void) | undefined;

process.on('exit', () => deliver?.());

/** Calls `onLine` with each line. If it is undefined, lines are dropped, which is the default. */
export function setLog(onLine: ((line: string) => void) | undefined): void {
  clearInterval(timer);
  deliver?.();
  if (onLine) native.lapwing_log_queue();
  else native.lapwing_log_set(null, null);
  deliver = onLine && (() => readAll(onLine));
  if (deliver) timer = setInterval(deliver, READ_MS).unref();
}

function readAll(onLine: (line: string) => void): void {
  const line = new Uint8Array(new ArrayBuffer(LINE_BYTES_MAX));
  const dropped = new Cell();
  for (;;) {
    const result = native.lapwing_log_read(line, line.length, dropped.bytes);
    if (dropped.value > 0n) onLine(`${dropped.value} lines of the log were dropped`);
    if (result === constants.ERROR_WOULD_BLOCK) return;
    check(result);
    onLine(textAt(new DataView(line.buffer), 0, line.length));
  }
}
