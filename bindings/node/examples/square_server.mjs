// Answers calls with squares, of a client in any language, until the client closes.
// A request is of type 1, a reply of type 2, each of 8 bytes: an integer, little-endian.
//
//   node square_server.mjs ./square.sock
import { Listener } from 'lapwing';

const REQUEST = 1;
const REPLY = 2;
const WRONG_REQUEST = 1; // the codes of errors are the server's own

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
