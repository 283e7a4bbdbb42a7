// Finds and loads the shared library, checks its version, and declares its functions.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import { constants, functions, type FunctionName } from './abi.js';

/** A C function. It runs on this thread, or with `async` on a thread of libuv's pool. */
export interface NativeFunction {
  (...parameters: unknown[]): any;
  async(...parameters: [...unknown[], (error: unknown, result: any) => void]): void;
}

const SYSTEM_LIBRARY = 'liblapwing.so.1';

function libraryPath(): string {
  const named = process.env['LAPWING_LIBRARY'];
  if (named) return named;
  const own = fileURLToPath(new URL(`../lib/${SYSTEM_LIBRARY}`, import.meta.url));
  return existsSync(own) ? own : SYSTEM_LIBRARY;
}

const RTLD_NOW = 2;
const RTLD_NODELETE = 0x1000;

function load(path: string) {
  try {
    const library = koffi.load(path);
    // Pin the library: koffi unloads it when Node.js ends, while its threads may still be running.
    koffi.load(null).func('dlopen', 'void *', ['str', 'int'])(path, RTLD_NOW | RTLD_NODELETE);
    return library;
  } catch (error) {
    throw new Error(
      `${path} cannot be loaded: ${(error as Error).message}. ` +
        'Install Lapwing, or set LAPWING_LIBRARY to the path of liblapwing.so.1.',
    );
  }
}

const path = libraryPath();
const library = load(path);
const abi = new Uint32Array(1);
const versionOf = library.func('lapwing_version', ...signature('lapwing_version'));

/** The release of the library, "0.2.0", and its C interface, "1.0". */
export const version: { readonly release: string; readonly abi: string } = checkedVersion();

function checkedVersion() {
  const release: string = versionOf(abi);
  const [major, minor] = [abi[0]! >>> 16, abi[0]! & 0xffff];
  if (major !== constants.ABI_MAJOR || minor < constants.ABI_MINOR) {
    throw new Error(
      `${path} is Lapwing ${release} with the C interface ${major}.${minor}; this package needs ` +
        `${constants.ABI_MAJOR}.${constants.ABI_MINOR} or a later ${constants.ABI_MAJOR}.x. ` +
        'Install a library and a package of the same release.',
    );
  }
  return { release, abi: `${major}.${minor}` };
}

function signature(name: FunctionName): [string, string[]] {
  const [result, parameters] = functions[name];
  return [result, [...parameters]];
}

koffi.struct('lapwing_book_key', {
  instrument_id: 'uint32_t',
  publisher_id: 'uint16_t',
  reserved: 'uint16_t',
});

/** The functions of lapwing.h by name. */
export const native = Object.fromEntries(
  (Object.keys(functions) as FunctionName[]).map((name) => [
    name,
    library.func(name, ...signature(name)),
  ]),
) as unknown as Readonly<Record<FunctionName, NativeFunction>>;
