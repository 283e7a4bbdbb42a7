// Publishes to a bus with the package's defaults, then kills itself.
import { Publisher } from 'lapwing';

const publisher = await Publisher.open({ directory: process.argv[2], recordBytes: 8, capacity: 4096 });
publisher.tryPublish(new Uint8Array(80));
process.kill(process.pid, 'SIGKILL');
