/** Commands of the shell that only look: listings, attributes, space, content. */

import { decodeLenient, printable, printableLines } from '../../bytes/text.ts';
import { SOFTWARE } from '../../core/options.ts';
import type { DirectoryEntry } from '../../sftp/list.ts';
import type { RemotePath } from '../../sftp/options.ts';
import { type Attributes, fileKind } from '../../sftp/proto/attrs.ts';
import { extensions } from '../../sftp/proto/extensions.ts';
import { modeText } from '../../sftp/proto/mode.ts';
import { isStatusError } from '../../sftp/proto/status.ts';
import { type LongFormat, longLines, shownName } from '../listing.ts';
import { matches } from '../remote_sources.ts';
import { formatBinary } from '../units.ts';
import { inColumns, ordered } from './columns.ts';
import type { Call, ShellCommand } from './command.ts';
import { localEntries } from './local_entries.ts';
import { oneOf, pathsOf, sourceOf } from './paths.ts';
import { type Shell, shownPath } from './session.ts';

/** Of this side owners are numbers anyway. */
const LLS_FLAGS = '1lahtSr';
const LS_FLAGS = `${LLS_FLAGS}n`;

async function list(shell: Shell, call: Call): Promise<void> {
  const { flags, operands, signal } = call;
  const loose: DirectoryEntry[] = [];
  const groups: Listing[] = [];
  if (operands.length === 0)
    groups.push({ path: shell.directory, entries: await entriesIn(shell, shell.directory, call) });
  for (const word of operands) {
    const found = await matches(shell.sftp, sourceOf(shell, word), signal);
    for (const { path, attrs } of found) {
      const known = attrs ?? (await shell.sftp.stat(path, { signal }));
      // of several that a pattern matches the names are what is asked for
      if (found.length > 1 || !mayBeDirectory(known)) loose.push(entryOf(shell.relative(path), known));
      else groups.push({ path, entries: await entriesIn(shell, path, call) });
    }
  }
  const all = [...loose, ...groups.flatMap(({ entries }) => entries)];
  const format = flags.has('l') ? await longFormat(shell, call, all) : {};
  await shell.lines(shownEntries(shell, loose, flags, format));
  const isTitled = groups.length + loose.length > 1;
  for (const { path, entries } of groups) {
    if (isTitled) await shell.line(`${shownPath(path)}:`);
    await shell.lines(shownEntries(shell, entries, flags, format));
  }
}

interface Listing {
  readonly path: RemotePath;
  readonly entries: readonly DirectoryEntry[];
}

/** What the server does not tell may be one. */
function mayBeDirectory(attrs: Attributes): boolean {
  return ['directory', 'unknown'].includes(fileKind(attrs));
}

async function entriesIn(shell: Shell, path: RemotePath, { flags, signal }: Call): Promise<DirectoryEntry[]> {
  const entries: DirectoryEntry[] = [];
  for await (const entry of shell.sftp.list(path, { signal, dots: flags.has('a') })) {
    if (flags.has('a') || !entry.name.startsWith('.')) entries.push(entry);
  }
  return entries;
}

function entryOf(path: RemotePath, attrs: Attributes): DirectoryEntry {
  const name = typeof path === 'string' ? path : decodeLenient(path);
  const nameBytes = typeof path === 'string' ? new TextEncoder().encode(path) : path;
  return { name, nameBytes, longname: '', attrs };
}

/** The lines of `ls`: long, one a line, or in columns where a person reads them. */
function shownEntries(
  shell: Shell,
  entries: readonly DirectoryEntry[],
  flags: ReadonlySet<string>,
  format: LongFormat,
): string[] {
  const list = ordered(entries, flags);
  if (flags.has('l')) return longLines(list, format);
  const names = list.map(shownName);
  const { columns } = shell.output;
  return columns === undefined || flags.has('1') ? names : inColumns(names, columns);
}

async function longFormat(
  shell: Shell,
  { flags, signal }: Call,
  entries: readonly DirectoryEntry[],
): Promise<LongFormat> {
  const size = flags.has('h') ? { size: formatBinary } : {};
  if (flags.has('n')) return size;
  return { ...size, ...(await ownersOf(shell, entries, signal)) };
}

/** More owners than this stay numbers: a packet has to hold them all. */
const MAX_OWNERS = 1000;

/** Names where the server gives them; a listing is of use without. */
async function ownersOf(shell: Shell, entries: readonly DirectoryEntry[], signal: AbortSignal): Promise<LongFormat> {
  if (!shell.sftp.extensions.has(extensions.ownerNames.request)) return {};
  const ids = (key: 'uid' | 'gid'): number[] =>
    [...new Set(entries.map(({ attrs }) => attrs[key]).filter((id) => id !== undefined))].slice(0, MAX_OWNERS);
  const [users, groups] = [ids('uid'), ids('gid')];
  if (users.length + groups.length === 0) return {};
  try {
    const names = await shell.sftp.ownerNames({ users, groups }, { signal });
    return { users: byId(users, names.users), groups: byId(groups, names.groups) };
  } catch (error) {
    if (isStatusError(error)) return {};
    throw error;
  }
}

/** An empty name is none. */
function byId(ids: readonly number[], names: readonly string[]): Map<number, string> {
  return new Map(ids.map((id, at): [number, string] => [id, names[at] || String(id)]));
}

async function listLocal(shell: Shell, { operands, flags }: Call): Promise<void> {
  const entries = await localEntries(shell.local(operands[0]?.text ?? ''), flags.has('a'));
  await shell.lines(shownEntries(shell, entries, flags, flags.has('h') ? { size: formatBinary } : {}));
}

async function describe(shell: Shell, call: Call): Promise<void> {
  for (const path of await pathsOf(shell, call)) {
    const attrs = await shell.sftp.lstat(path, { signal: call.signal });
    const isLink = fileKind(attrs) === 'symlink';
    const target = isLink ? await shell.sftp.readlink(path, { signal: call.signal }) : undefined;
    await shell.lines(attributeLines(path, attrs, target));
  }
}

/** What is known of a file, one fact a line. */
function attributeLines(path: RemotePath, attrs: Attributes, target: RemotePath | undefined): string[] {
  const { size, uid, gid, permissions, atime, mtime } = attrs;
  const facts: [string, string | undefined][] = [
    ['path', shownPath(path)],
    ['type', fileKind(attrs)],
    ['target', target === undefined ? undefined : shownPath(target)],
    ['size', size === undefined ? undefined : String(size)],
    ['permissions', permissions && `${(permissions & 0o7777).toString(8).padStart(4, '0')} ${modeText(attrs, '?')}`],
    ['owner', uid === undefined ? undefined : String(uid)],
    ['group', gid === undefined ? undefined : String(gid)],
    ['modified', timeText(mtime)],
    ['accessed', timeText(atime)],
  ].filter((fact): fact is [string, string] => Boolean(fact[1]));
  return facts.map(([name, value]) => `${`${name}:`.padEnd(13)}${value}`);
}

function timeText(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

async function showContent(shell: Shell, call: Call): Promise<void> {
  // a terminal obeys what is in a file: it gets text only
  const isShown = shell.output.columns !== undefined;
  for (const path of await pathsOf(shell, call)) {
    const decoder = new TextDecoder();
    const show = (text: string): Promise<void> => shell.output.write(printableLines(text, text.length));
    for await (const piece of shell.sftp.chunks(path, { signal: call.signal })) {
      if (isShown) await show(decoder.decode(piece, { stream: true }));
      else await shell.output.write(piece);
    }
    if (isShown) await show(decoder.decode());
  }
}

async function diskFree(shell: Shell, { operands, flags, signal }: Call): Promise<void> {
  const [word] = operands;
  const path = word === undefined ? shell.directory : await oneOf(shell, word, signal);
  const stats = await shell.sftp.statvfs(path, { signal });
  const { fragmentSize, blocks, freeBlocks, availableBlocks } = stats;
  const used = blocks - freeBlocks;
  const write = (count: number): string =>
    flags.has('h') ? formatBinary(count * fragmentSize) : String(Math.ceil((count * fragmentSize) / 1024));
  // as df(1): of what users may have, and not of what is kept for root
  const share = used + availableBlocks > 0 ? Math.ceil((100 * used) / (used + availableBlocks)) : 0;
  const rows = [
    [flags.has('h') ? 'Size' : 'KiB', 'Used', 'Available', 'Capacity'],
    [write(blocks), write(used), write(availableBlocks), `${share}%`],
  ];
  await shell.lines(rows.map((row) => row.map((cell) => cell.padStart(14)).join(' ')));
}

async function showVersion(shell: Shell): Promise<void> {
  const names = [...shell.sftp.extensions].map(([name, version]) => printable(`${name} ${version}`));
  await shell.lines([SOFTWARE.replace('_', ' '), 'SFTP 3', ...names.map((name) => `  ${name}`)]);
}

export const lookCommands: readonly ShellCommand[] = [
  {
    name: 'ls',
    aliases: ['dir'],
    usage: `[-${LS_FLAGS}] [path ...]`,
    summary: 'list directories: -l in full, -a with hidden names, -t by time, -S by size, -r the other way round',
    flags: LS_FLAGS,
    least: 0,
    most: Infinity,
    operands: ['remote'],
    run: list,
  },
  {
    name: 'lls',
    usage: `[-${LLS_FLAGS}] [path]`,
    summary: 'list a local directory',
    flags: LLS_FLAGS,
    least: 0,
    most: 1,
    operands: ['local'],
    run: listLocal,
  },
  {
    name: 'pwd',
    usage: '',
    summary: 'show the remote directory',
    flags: '',
    least: 0,
    most: 0,
    operands: [],
    run: (shell) => shell.line(shownPath(shell.directory)),
  },
  {
    name: 'lpwd',
    usage: '',
    summary: 'show the local directory',
    flags: '',
    least: 0,
    most: 0,
    operands: [],
    run: (shell) => shell.line(printable(shell.localDirectory, 4096)),
  },
  {
    name: 'stat',
    usage: 'path ...',
    summary: 'show what is known of a file',
    flags: '',
    least: 1,
    most: Infinity,
    operands: ['remote'],
    run: describe,
  },
  {
    name: 'cat',
    usage: 'path ...',
    summary: 'show the content of files',
    flags: '',
    least: 1,
    most: Infinity,
    operands: ['remote'],
    run: showContent,
  },
  {
    name: 'df',
    usage: '[-h] [path]',
    summary: 'show how much room there is on the remote disk',
    flags: 'h',
    least: 0,
    most: 1,
    operands: ['remote'],
    run: diskFree,
  },
  {
    name: 'version',
    usage: '',
    summary: 'show the versions of this program and the protocol, and what the server has beside it',
    flags: '',
    least: 0,
    most: 0,
    operands: [],
    run: showVersion,
  },
];
