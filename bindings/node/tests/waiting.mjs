// A process that waits forever, and then exits (`exit`), aborts the wait and ends (`abort`), or keeps waiting
// (`stay`).
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
