/** What every client must be able to do with puressh's server. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { seededRandom } from '../random.ts';
import { isThorough } from '../thorough.ts';
import type { Client, Step } from './client.ts';
import { type OwnServer, type OwnServerOptions, type SharedServer, useOwnServer } from './own_server.ts';

const MEBIBYTE = 1024 * 1024;

/** The server begins a key exchange so often that every client meets some, in both directions. */
const REKEY = MEBIBYTE;

/** How much a client is given to do. */
const WHOLE = { bytes: 64 * MEBIBYTE, names: 10_000 };
const SHORT = { bytes: 8 * MEBIBYTE, names: 2_000 };
const load = ({ slow = false }: Client): typeof WHOLE => (slow && !isThorough ? SHORT : WHOLE);

const LIMIT = { timeout: 120_000 };

/** Bytes of which no two blocks are alike. */
export function content(size: number): Buffer {
  const block = seededRandom('content')(65_521); // a prime, so that it meets every boundary at another place
  const bytes = Buffer.alloc(size);
  for (let at = 0, turn = 0; at < size; at += block.length, turn++) {
    bytes.set(block.subarray(0, Math.min(block.length, size - at)), at);
    bytes.writeUInt32LE(turn, Math.min(at, size - 4));
  }
  return bytes;
}

/** The same bytes; a failure says where they differ, and not 64 MiB. */
export function sameBytes(path: string, expected: Uint8Array): void {
  const found = readFileSync(path);
  if (Buffer.compare(found, expected) === 0) return;
  let at = 0;
  while (found[at] === expected[at]) at++;
  assert.fail(`${path} has ${found.length} bytes for ${expected.length}, and another one at ${at}`);
}

/** Registers the tests of one client; called in a `describe`. Gives the server to further tests. */
export function clientTests(client: Client, serverOptions: OwnServerOptions = {}): SharedServer {
  const rekeying = { rekey: { bytes: REKEY }, ...serverOptions };
  const shared = useOwnServer(client.unavailable, rekeying, client.impossible);
  const options = { ...shared.options, ...LIMIT };
  const can = (...steps: Step['do'][]): boolean => steps.every((step) => client.can.includes(step));
  for (const way of client.ways) loginTest(client, way, shared, options);
  if (can('get', 'put')) {
    it('carries a large file up and down', options, () => carry(client, shared.server));
  }
  if (can('list')) {
    it('lists a directory of many files', options, () => listMany(client, shared.server));
  }
  if (can('mkdir', 'put', 'rename', 'list', 'remove', 'rmdir')) {
    it('makes, renames and removes', options, () => change(client, shared.server));
  }
  if (can('reget')) it('resumes a download', options, () => resumeGet(client, shared.server));
  if (can('reput')) it('resumes an upload', options, () => resumePut(client, shared.server));
  return shared;
}

function loginTest(client: Client, way: Client['ways'][number], shared: SharedServer, options: object): void {
  const { run } = client;
  if (run !== undefined) {
    it(`logs in with a ${way} and runs a command`, options, async () => {
      const { code, stdout, stderr } = await run(shared.server, way, 'echo out; echo err >&2; exit 7');
      assert.deepEqual([code, stdout.toString()], [7, 'out\n'], stderr);
      assert.match(stderr, /^err\r?$/m);
    });
    return;
  }
  it(`logs in with a ${way}`, options, async () => {
    const { server } = shared;
    writeFileSync(join(server.files, `for-${way}`), 'hello');
    if (client.can.includes('list')) {
      assert.ok((await client.files(server, way, [{ do: 'list', remote: '/' }])).includes(`for-${way}`));
    } else {
      const local = join(server.local, `for-${way}`);
      await client.files(server, way, [{ do: 'get', remote: `/for-${way}`, local }]);
      assert.equal(readFileSync(local, 'utf8'), 'hello');
    }
  });
}

async function carry(client: Client, { files, local, ...server }: OwnServer): Promise<void> {
  const bytes = content(load(client).bytes);
  const [source, target] = [join(local, 'large'), join(local, 'large-again')];
  writeFileSync(source, bytes);
  await client.files({ files, local, ...server }, 'key', [
    { do: 'put', local: source, remote: '/large' },
    { do: 'get', remote: '/large', local: target },
  ]);
  sameBytes(join(files, 'large'), bytes);
  sameBytes(target, bytes);
  const exchanges = Math.max(...server.connections.map(({ keyExchanges }) => keyExchanges));
  assert.ok(exchanges > 4, `${exchanges} key exchanges`);
  for (const path of [source, target, join(files, 'large')]) rmSync(path);
}

async function listMany(client: Client, server: OwnServer): Promise<void> {
  const folder = join(server.files, 'many');
  mkdirSync(folder);
  const count = load(client).names;
  const names = Array.from({ length: count }, (_, i) => `name-${String(i).padStart(5, '0')}`);
  for (const name of names) writeFileSync(join(folder, name), '');
  const found = await client.files(server, 'key', [{ do: 'list', remote: '/many' }]);
  const without = found.filter((name) => name !== '.' && name !== '..').sort();
  assert.equal(without.length, count, `${without.length} names, from ${without[0]} to ${without.at(-1)}`);
  assert.deepEqual(without, names);
}

async function change(client: Client, server: OwnServer): Promise<void> {
  const { files, local } = server;
  const source = join(local, 'grün blau');
  writeFileSync(source, 'some text');
  const listed = await client.files(server, 'key', [
    { do: 'mkdir', remote: '/new folder' },
    { do: 'put', local: source, remote: '/new folder/grün blau' },
    { do: 'rename', remote: '/new folder/grün blau', to: '/new folder/rot' },
    { do: 'list', remote: '/new folder' },
  ]);
  assert.deepEqual(
    listed.filter((name) => name !== '.' && name !== '..'),
    ['rot'],
  );
  assert.deepEqual(readdirSync(join(files, 'new folder')), ['rot']);
  assert.equal(readFileSync(join(files, 'new folder', 'rot'), 'utf8'), 'some text');
  await client.files(server, 'key', [
    { do: 'remove', remote: '/new folder/rot' },
    { do: 'rmdir', remote: '/new folder' },
  ]);
  assert.ok(!existsSync(join(files, 'new folder')));
}

/** The part that is there is not the source's, so that it shows who starts anew. */
function partOf(bytes: Buffer): { readonly part: Buffer; readonly whole: Buffer } {
  const part = Buffer.alloc(Math.floor(bytes.length / 3), 'part');
  return { part, whole: Buffer.concat([part, bytes.subarray(part.length)]) };
}

async function resumeGet(client: Client, server: OwnServer): Promise<void> {
  const bytes = content(5 * MEBIBYTE + 1);
  const { part, whole } = partOf(bytes);
  const target = join(server.local, 'resumed');
  writeFileSync(join(server.files, 'source'), bytes);
  writeFileSync(target, part);
  await client.files(server, 'key', [{ do: 'reget', remote: '/source', local: target }]);
  sameBytes(target, whole);
}

async function resumePut(client: Client, server: OwnServer): Promise<void> {
  const bytes = content(5 * MEBIBYTE + 1);
  const { part, whole } = partOf(bytes);
  const source = join(server.local, 'source');
  writeFileSync(source, bytes);
  writeFileSync(join(server.files, 'resumed'), part);
  await client.files(server, 'key', [{ do: 'reput', local: source, remote: '/resumed' }]);
  sameBytes(join(server.files, 'resumed'), whole);
}
