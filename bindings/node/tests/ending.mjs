// A process that ends while library threads are running: those of a waiting subscriber and of a publisher.
import { Publisher, Subscriber } from 'lapwing';

const directory = process.argv[2];
const publisher = await Publisher.open({ directory, recordBytes: 16, capacity: 4096 });
const subscriber = Subscriber.open({ directory, start: 'oldest', endAtClose: true });
setTimeout(() => publisher.close(), 30);
for await (const item of subscriber) if (item.type === 'records') throw new Error('there should be none');
