/** The directory backend of the runtime that runs the tests, and a directory for it to serve. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Attributes } from '../../src/sftp/proto/attrs.ts';
import type { BackendEntry, BackendFile, OpenRequest, SftpBackend } from '../../src/sftp/server/backend.ts';
import type { DirectoryOptions } from '../../src/sftp/server/directory.ts';
import type { HostFiles } from '../../src/sftp/server/host_files.ts';

const globals = globalThis as { readonly Deno?: unknown; readonly Bun?: unknown };

export const runtime: 'node' | 'deno' | 'bun' =
  globals.Bun !== undefined ? 'bun' : globals.Deno !== undefined ? 'deno' : 'node';

const entry = await (runtime === 'bun'
  ? import('../../src/transports/bun_host_files.ts')
  : runtime === 'deno'
    ? import('../../src/transports/deno_host_files.ts')
    : import('../../src/transports/node_host_files.ts'));

export const directory: (root: string, options?: DirectoryOptions) => SftpBackend = entry.directory;

export const hostFiles: HostFiles =
  'bunHostFiles' in entry ? entry.bunHostFiles : 'denoHostFiles' in entry ? entry.denoHostFiles : entry.nodeHostFiles;

/** What must never come back from a served directory. */
export const SECRET = 'SECRET that lies outside';

/** A served directory, with secrets around it. */
export interface Served {
  /** The path of the root, or of something in it, on the host. */
  readonly at: (...parts: string[]) => string;
  /** The directory around the root. */
  readonly outside: string;
  readonly files: Required<Omit<SftpBackend, 'files'>> & SftpBackend;
}

const temporary = realpathSync(mkdtempSync(join(tmpdir(), 'puressh-served-')));
after(() => rmSync(temporary, { recursive: true, force: true }));
let made = 0;

/**
 * A new tree: `root` is served; `secret`, `root2/secret` and `rootless` lie beside it. Of the backend all functions are
 * taken to be there.
 */
export function served(options: { readonly readOnly?: boolean } = {}): Served {
  const outside = join(temporary, `tree-${++made}`);
  for (const name of ['root', 'root2']) mkdirSync(join(outside, name), { recursive: true });
  for (const name of ['secret', 'root2/secret', 'rootless']) writeFileSync(join(outside, name), SECRET);
  return {
    outside,
    at: (...parts) => join(outside, 'root', ...parts),
    files: directory(join(outside, 'root'), options) as Served['files'],
  };
}

/** How to open, in letters: read, write, append, create, truncate, exclusive (`x`). */
export function how(letters: string, attrs: Attributes = {}): OpenRequest {
  return {
    read: letters.includes('r'),
    write: letters.includes('w'),
    append: letters.includes('a'),
    create: letters.includes('c'),
    truncate: letters.includes('t'),
    exclusive: letters.includes('x'),
    attrs,
  };
}

/** Opens a file, works with it and closes it. */
export async function using<T>(
  files: SftpBackend,
  path: string,
  request: OpenRequest,
  work: (file: Required<BackendFile>) => T | Promise<T>,
): Promise<T> {
  const file = (await files.open?.(path, request)) as Required<BackendFile>;
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

/** The whole content of a file, as text of one character a byte. */
export function content(files: SftpBackend, path: string): Promise<string> {
  return using(files, path, how('r'), async (file) => {
    let text = '';
    for (let bytes = await file.read(0, 1000); bytes.length > 0; bytes = await file.read(text.length, 1000)) {
      text += String.fromCharCode(...bytes);
    }
    return text;
  });
}

/** All entries of a directory, by name. */
export async function entries(files: SftpBackend, path: string): Promise<BackendEntry[]> {
  const all: BackendEntry[] = [];
  for await (const entry of (await files.list?.(path)) ?? []) all.push(entry);
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Checks that `work` fails with a code of POSIX. */
export async function failsWith(code: string, work: () => unknown): Promise<void> {
  let value: unknown;
  try {
    value = await work();
  } catch (error) {
    assert.equal((error as { code?: string }).code, code, String(error));
    return;
  }
  assert.fail(`gave ${String(value)} instead of ${code}`);
}
