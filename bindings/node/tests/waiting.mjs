// A process that waits without end, and exits meanwhile (`exit`), is left with nothing to wait for (`abort`), or
// goes on (`stay`).
import { Batch, Subscriber } from 'lapwing';

const [directory, how, wait = 'backoff'] = process.argv.slice(2);
const subscriber = Subscriber.open({ directory, wait });
const batch = new Batch({ rows: 16, rowBytes: 16 });
await subscriber.read(batch); // the session
await subscriber.read(batch); // caught up
const controller = new AbortController();
const read = subscriber.read(batch, { signal: controller.signal });
setTimeout(() => {
  console.log('waits');
  if (how === 'exit') process.exit(7);
  if (how === 'abort') controller.abort();
}, 50);
await read.catch((error) => console.log(error.name));
subscriber.destroy();
