// Publishes quotes with their own schema. Tools and readers in any language can use the fields by name.
//
//   node publish.mjs ./quotes 1000
//   lapwing tail --bus ./quotes --from oldest
import { Publisher, Schema } from 'lapwing';

const [directory, count] = process.argv.slice(2);
const schema = JSON.stringify({
  name: 'desk.quote',
  version: 1,
  record_bytes: 32,
  fields: [
    { name: 'ts', type: 'uint64', offset: 0, unit: 'utc_ns', role: 'time' },
    { name: 'instrument', type: 'uint32', offset: 8, role: 'key' },
    { name: 'size', type: 'uint32', offset: 12 },
    { name: 'bid', type: 'int64', offset: 16, unit: 'price' },
    { name: 'ask', type: 'int64', offset: 24, unit: 'price' },
  ],
});

const publisher = await Publisher.open({ directory, schema });
const quotes = Schema.of(directory);
const tick = 250_000_000n; // 0.25, in units of 1e-9
for (let n = 0n; n < BigInt(count); ++n) {
  const bid = 4500n * 1_000_000_000n + n * tick;
  await publisher.publish(quotes.encode({
    ts: BigInt(Date.now()) * 1_000_000n, instrument: 7, size: 10, bid, ask: bid + tick,
  }));
}
await publisher.close();
console.log(`${count} quotes are durable in ${directory}`);
