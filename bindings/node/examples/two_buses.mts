// Finds the best bid on two buses of quotes in one thread. Each bus has its own loop, joined by promises.
//
//   node publish.mjs ./a 1000 && node publish.mjs ./b 2000
//   node two_buses.mts ./a ./b        # Node.js 22.18 or newer; for older versions, compile it with tsc
import { Start, Subscriber } from 'lapwing';

const best = { bid: 0n, directory: '' };

async function follow(directory: string): Promise<bigint> {
  const subscriber = Subscriber.open({ directory, start: Start.oldest(), endAtClose: true });
  let quotes = 0n;
  for await (const item of subscriber) {
    switch (item.type) {
      case 'records':
        if (!subscriber.schema) throw new Error(`the records of ${directory} are not described`);
        for (const bid of subscriber.schema.column<BigInt64Array>(item, 'bid')) {
          if (bid > best.bid) Object.assign(best, { bid, directory });
        }
        quotes += BigInt(item.count);
        break;
      case 'gap':
      case 'lost':
        console.log(`${directory}: ${item.last - item.first + 1n} records are missing: ${item.cause}`);
        break;
      default:
        console.log(`${directory}: ${item}`);
    }
  }
  subscriber.destroy();
  return quotes;
}

const directories = process.argv.slice(2);
const counts = await Promise.all(directories.map(follow));
console.log(`${counts.join(' and ')} quotes; the best bid is ${Number(best.bid) / 1e9}, of ${best.directory}`);
