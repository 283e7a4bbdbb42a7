import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { Batch, History, Schema } from 'lapwing';
import { ended, folder, orders, printed, publisherOf, start } from './buses.mjs';

test('top_of_book prints the best prices of a bus', async (t) => {
  const directory = join(folder(t), 'es');
  const publisher = await publisherOf(t, directory, { recordBytes: undefined, schemaName: 'dbn.mbo' });
  const child = start('../examples/top_of_book.mjs', directory, '1', '7');
  publisher.tryPublish(orders([['B', -1, 5], ['A', 2, 9]]));
  await printed(child, '| 100.5 x 9');
  await publisher.close();
  assert.equal(await ended(child), 0, child.err);
  assert.match(child.out, /^2 99\.75 x 5 \| 100\.5 x 9$/m);
});

test('publish publishes quotes that every subscriber knows by name', async (t) => {
  const directory = join(folder(t), 'quotes');
  const child = start('../examples/publish.mjs', directory, '20');
  assert.equal(await ended(child), 0, child.err);
  assert.match(child.out, /^20 quotes are durable/);
  const schema = Schema.of(directory);
  const history = await History.open(directory);
  const batch = await history.read(1n, new Batch({ rows: 32, rowBytes: schema.recordBytes }));
  const bids = schema.column(batch, 'bid');
  assert.equal(bids.length, 20);
  assert.equal(bids[1] - bids[0], 250_000_000n);
  history.destroy();
});

test('square_client calls square_server', async (t) => {
  const path = join(folder(t), 'square.sock');
  const server = start('../examples/square_server.mjs', path);
  await printed(server, 'listening');
  const client = start('../examples/square_client.mjs', path, '3', '-4', '3000000000');
  assert.equal(await ended(client), 0, client.err);
  assert.equal(client.out, '9 16 9000000000000000000\n');
  assert.equal(await ended(server), 0, server.err);
});
