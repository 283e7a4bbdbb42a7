// Answers a client's calls with squares until the client closes. The client may be in any language.
// A request has type 1 and a reply type 2. Each payload is an 8-byte little-endian integer.
//
//   node square_server.mjs ./square.sock
import { Listener } from 'lapwing';

const REQUEST = 1;
const REPLY = 2;
const WRONG_REQUEST = 1; // each server defines its own error codes

const listener = Listener.open(process.argv[2]);
console.log('listening');
const duplex = await listener.accept('duplex');
for await (const { call, type, payload } of duplex) {
  if (call === 0n) continue; // a one-way message
  if (type !== REQUEST || payload.length !== 8) {
    await duplex.replyError(call, WRONG_REQUEST, 'a request is of type 1 and 8 bytes long');
    continue;
  }
  const n = payload.readBigInt64LE();
  const square = Buffer.alloc(8);
  square.writeBigInt64LE(BigInt.asIntN(64, n * n));
  await duplex.reply(call, { type: REPLY, payload: square });
}
duplex.destroy();
listener.destroy();
