/**
 * Reading ssh_config(5) files for one host: which lines count, and the first value of each keyword. Files are read once, and
 * once more, with the name of the host settled, if one of them says `Match final`. Must not know what values are used for.
 */

import { printable } from '../bytes/text.ts';
import type { MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { lowerAscii } from '../keys/host_pattern.ts';
import { parseIpAddress } from '../keys/ip_address.ts';
import type { ConfigOrigin } from './host_config.ts';
import { type ConfigValues, type Keyword, keywordOf, properName } from './keywords.ts';
import { hostMatches, listMatches, type MatchFacts, matchLine } from './match.ts';
import { badConfig, type ConfigFile, type ConfigLine, placeName } from './parse.ts';
import { expandTokens } from './tokens.ts';

/** A path as it is written, and where. */
export interface WrittenPath {
  readonly path: string;
  readonly origin: ConfigOrigin;
}

/** What was found. */
export interface Findings {
  readonly values: ConfigValues;
  readonly identityFiles: readonly WrittenPath[];
  readonly certificateFiles: readonly WrittenPath[];
  readonly sources: ReadonlyMap<string, ConfigOrigin>;
  readonly ignored: readonly ConfigOrigin[];
  /** Where to connect. */
  readonly host: string;
}

/** Whom the files are read for. */
export interface ReadingQuery {
  readonly host: string;
  readonly user?: string | undefined;
  readonly localUser: string;
  /** Runs the command of `Match exec` after `expand` has put in what its tokens stand for. */
  exec?(command: string, values: ConfigValues, host: string, bad: (what: string) => Error): MaybePromise<boolean>;
}

/** Includes within includes; OpenSSH's READCONF_MAX_DEPTH. */
export const MAX_INCLUDE_DEPTH = 16;

type Draft = { -readonly [F in keyof ConfigValues]: ConfigValues[F] };

/** Whether lines count; `never`: in a file that a part which does not count includes. */
type Scope = { active: boolean; readonly never: boolean };

/** Throws `bad-config`, or `not-supported` for what would change where, as whom or how safely one connects. */
export async function readFor(files: readonly ConfigFile[], query: ReadingQuery): Promise<Findings> {
  const reading = new Reading(query);
  await reading.all(files);
  return reading.findings();
}

class Reading {
  readonly #query: ReadingQuery;
  readonly #draft: Draft = {};
  readonly #lists = { identityFiles: [] as WrittenPath[], certificateFiles: [] as WrittenPath[] };
  readonly #sources = new Map<string, ConfigOrigin>();
  readonly #ignored = new Map<string, ConfigOrigin>();
  #ignoreUnknown = '';
  #final = false;
  #asksFinal = false;
  /** What `Host` is compared with. */
  #host: string;

  constructor(query: ReadingQuery) {
    this.#query = query;
    this.#host = query.host;
  }

  async all(files: readonly ConfigFile[]): Promise<void> {
    for (const file of files.filter(({ kind }) => kind === 'options')) await this.#file(file, 0, false, true);
    if (this.#query.user !== undefined) this.#draft.user ??= this.#query.user;
    const real = files.filter(({ kind }) => kind === 'file');
    for (const file of real) await this.#file(file, 0, false, true);
    this.#host = this.#settledHost();
    if (!this.#asksFinal) return;
    this.#final = true;
    this.#draft.hostName = this.#host.replaceAll('%', '%%');
    for (const file of real) await this.#file(file, 0, false, true);
  }

  findings(): Findings {
    return {
      values: this.#draft,
      ...this.#lists,
      sources: this.#sources,
      ignored: [...this.#ignored.values()],
      host: this.#host,
    };
  }

  /** `HostName`, or the host as it was asked for; names in lower case, addresses as they are. */
  #settledHost(): string {
    const host = this.#nowHost();
    return parseIpAddress(host) === undefined ? lowerAscii(host) : host;
  }

  #nowHost(): string {
    const { hostName } = this.#draft;
    const origin = this.#sources.get('hostname');
    if (hostName === undefined) return this.#query.host;
    const bad = (what: string): Error =>
      origin === undefined ? new SshError('bad-config', what) : badConfig(origin, what);
    return expandTokens(hostName, { '%': '%', h: this.#query.host }, bad);
  }

  async #file(file: ConfigFile, depth: number, never: boolean, active: boolean): Promise<void> {
    const scope: Scope = { active, never };
    for (const line of file.lines) await this.#line(file, line, scope, depth);
  }

  async #line(file: ConfigFile, line: ConfigLine, scope: Scope, depth: number): Promise<void> {
    const origin: ConfigOrigin = { keyword: line.keyword, source: file.source, line: line.line };
    const keyword = keywordOf(line.keyword);
    if (keyword === undefined) {
      this.#unknown(line, origin);
      return;
    }
    switch (keyword.kind) {
      case 'host':
        this.#hostLine(inFile(file, line, origin), scope, origin);
        return;
      case 'match':
        await this.#matchLine(inFile(file, line, origin), scope, origin);
        return;
      case 'include':
        await this.#include(inFile(file, line, origin), scope, origin, depth);
        return;
      case 'ignored':
        if (scope.active && !this.#ignored.has(line.keyword)) this.#ignored.set(line.keyword, origin);
        return;
      case 'ignore-unknown': {
        const [patterns] = argumentsOf(line, 'one', origin) as [string];
        if (scope.active && this.#ignoreUnknown === '') this.#ignoreUnknown = patterns;
        return;
      }
      default:
        this.#value(line, keyword, scope, origin);
    }
  }

  #unknown(line: ConfigLine, origin: ConfigOrigin): void {
    if (listMatches(line.keyword, this.#ignoreUnknown.toLowerCase())) return;
    throw badConfig(
      origin,
      `${printable(line.keyword, 60)} is no keyword of ssh_config: correct it, or name it in IgnoreUnknown above`,
    );
  }

  #hostLine(line: ConfigLine, scope: Scope, origin: ConfigOrigin): void {
    const patterns = argumentsOf(line, 'many', origin);
    scope.active = !scope.never && hostMatches(this.#host, patterns);
  }

  async #matchLine(line: ConfigLine, scope: Scope, origin: ConfigOrigin): Promise<void> {
    const { host, localUser, exec } = this.#query;
    const bad = (what: string): Error => badConfig(origin, what);
    const now = this.#final ? this.#host : this.#nowHost();
    const facts: MatchFacts = {
      host: now,
      originalHost: host,
      user: this.#draft.user ?? localUser,
      localUser,
      tag: this.#draft.tag ?? '',
      final: this.#final,
      ...(scope.never ? { exec: () => false } : exec && { exec: (command) => exec(command, this.#draft, now, bad) }),
    };
    const { matches, asksFinal } = await matchLine(line.rest, facts, bad);
    this.#asksFinal ||= asksFinal;
    scope.active = !scope.never && matches;
  }

  async #include(line: ConfigLine, scope: Scope, origin: ConfigOrigin, depth: number): Promise<void> {
    if (line.included === undefined) {
      throw badConfig(origin, 'Include needs files to be read, and this text was given without them');
    }
    if (depth >= MAX_INCLUDE_DEPTH) throw badConfig(origin, `Include goes deeper than ${MAX_INCLUDE_DEPTH} files`);
    for (const file of line.included) {
      await this.#file(file, depth + 1, scope.never || !scope.active, scope.active);
    }
  }

  #value(
    line: ConfigLine,
    keyword: Extract<Keyword, { kind: 'value' | 'list' | 'refused' }>,
    scope: Scope,
    origin: ConfigOrigin,
  ): void {
    const name = properName(line.keyword);
    if (keyword.kind === 'list') {
      const [path] = argumentsOf(line, 'one', origin) as [string];
      const list = this.#lists[keyword.field];
      if (!scope.active || list.some((each) => each.path === path)) return;
      list.push({ path, origin });
      if (!this.#sources.has(name)) this.#sources.set(name, origin);
      return;
    }
    if (keyword.kind === 'refused') {
      if (!scope.active || this.#sources.has(name)) return;
      this.#sources.set(name, origin);
      if (!keyword.harmless.includes(line.rest.toLowerCase())) throw notSupported(origin, keyword.advice);
      return;
    }
    const bad = (what: string): Error => badConfig(origin, `${printable(line.keyword, 40)} ${what}`);
    const value = keyword.read(argumentsOf(line, keyword.takes, origin), bad);
    if (!scope.active || this.#draft[keyword.field] !== undefined) return;
    (this.#draft as Record<string, unknown>)[keyword.field] = value;
    this.#sources.set(name, origin);
    if (keyword.field === 'proxy' && isCommand(this.#draft.proxy)) {
      throw notSupported(origin, 'write ProxyJump, which goes through another SSH server without a command');
    }
  }
}

function isCommand(proxy: ConfigValues['proxy']): boolean {
  return proxy !== undefined && 'command' in proxy && proxy.command.toLowerCase() !== 'none';
}

/** A line that chooses hosts or files, which no single option can. */
function inFile(file: ConfigFile, line: ConfigLine, origin: ConfigOrigin): ConfigLine {
  if (file.kind === 'file') return line;
  throw badConfig(origin, `${line.keyword} stands in files only`);
}

function argumentsOf(line: ConfigLine, takes: 'one' | 'many' | 'rest', origin: ConfigOrigin): readonly string[] {
  const name = printable(line.keyword, 40);
  if (takes === 'rest') return [line.rest.replace(/^[ \t\r\n=]+/, '')];
  const { args } = line;
  if (args.length === 0 || args.includes('')) throw badConfig(origin, `${name} has no value, or an empty one`);
  if (takes === 'one' && args.length > 1) {
    throw badConfig(origin, `${name} takes one value, and '${printable(args[1] as string, 60)}' follows it`);
  }
  return args;
}

function notSupported(origin: ConfigOrigin, advice: string): SshError {
  const message = `${placeName(origin)}: puressh does not do what ${origin.keyword} asks for: ${advice}`;
  return new SshError('not-supported', message);
}
