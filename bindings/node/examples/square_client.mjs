// Calls a square server, which may be in any language. All calls are pending at the same time.
// A request has type 1 and a reply type 2. Each payload is an 8-byte little-endian integer.
//
//   node square_client.mjs ./square.sock 3 4 5
import { Duplex } from 'lapwing';

const REQUEST = 1;
const REPLY = 2;

const [path, ...numbers] = process.argv.slice(2);
const duplex = await Duplex.connect(path, { retryMs: 10_000 });

/** @param {bigint} n */
async function square(n) {
  const payload = Buffer.alloc(8);
  payload.writeBigInt64LE(n);
  const reply = await duplex.call({ type: REQUEST, payload }, { timeout: 10_000 });
  if (reply.type !== REPLY) throw new Error(`a reply of type ${reply.type}`);
  return reply.payload.readBigInt64LE();
}

const squares = await Promise.all(numbers.map((n) => square(BigInt(n))));
console.log(squares.join(' '));
duplex.destroy();
