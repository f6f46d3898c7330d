/**
 * Reading ssh_config(5) files, with those that they include, on whatever file system a runtime has. Who may have written them
 * is looked at as OpenSSH does. Must not know what the lines mean, but for Include.
 */

import { decodeLenient, printable } from '../bytes/text.ts';
import { badConfig, type ConfigFile, type ConfigLine, MAX_CONFIG_FILE, parseConfig } from '../config/parse.ts';
import { MAX_INCLUDE_DEPTH } from '../config/reading.ts';
import { parsePublicKeyLine } from '../keys/public_key_line.ts';
import { isGlob, matches, parseGlob } from '../sftp/glob_pattern.ts';
import { fileError, isMissing } from './file_error.ts';
import { expandHome } from './home.ts';

/** What a runtime has to bring along. Failures are the runtime's own. */
export interface ConfigSystem {
  /** The user's home directory. */
  readonly home: string;
  /** The folder of the files for everybody, such as `/etc/ssh`. */
  readonly folder: string;
  read(path: string): Promise<Uint8Array>;
  /** The names in a directory. */
  list(path: string): Promise<readonly string[]>;
  exists(path: string): Promise<boolean>;
  /** Whether only the user and the administrator can have written the file; true where a system cannot tell. */
  isSafe(path: string): Promise<boolean>;
}

/** Files that one configuration may consist of. */
const MAX_FILES = 256;

/** The user's file and the one for everybody; a missing one is empty. Or, of `file`, that one, and none of `none`. */
export async function configFiles(system: ConfigSystem, file?: string): Promise<readonly ConfigFile[]> {
  if (file?.toLowerCase() === 'none') return [];
  const loader = new Loader(system);
  if (file !== undefined) {
    const loaded = await loader.load(file, loader.userFolder, 'any');
    if (loaded !== undefined) return [loaded];
    throw fileError('read the configuration', file, Object.assign(new Error('missing'), { code: 'ENOENT' }));
  }
  const own = await loader.load(`${loader.userFolder}/config`, loader.userFolder, 'safe');
  const common = await loader.load(`${system.folder}/ssh_config`, system.folder, 'any');
  return [own, common].filter((each) => each !== undefined);
}

/** Files that a configuration names, with a `~` in front or not. */
export interface NamedFiles {
  exists(path: string): Promise<boolean>;
  /** The blob of the public key, or the certificate, in a file. Rejects with `bad-local-file` and the codes of key files. */
  publicBlob(path: string): Promise<Uint8Array>;
}

export function namedFiles(system: ConfigSystem): NamedFiles {
  const whole = (path: string): string => expandHome(path, () => system.home);
  return {
    exists: (path) => system.exists(whole(path)),
    async publicBlob(path) {
      const bytes = await system.read(whole(path)).catch((error) => {
        throw fileError('read', path, error);
      });
      return parsePublicKeyLine(decodeLenient(bytes)).blob;
    },
  };
}

class Loader {
  readonly userFolder: string;
  readonly #system: ConfigSystem;
  #count = 0;

  constructor(system: ConfigSystem) {
    this.#system = system;
    this.userFolder = `${system.home}/.ssh`;
  }

  /** `folder`: where names that are no whole paths begin. `undefined` where there is no such file. */
  async load(path: string, folder: string, writers: 'safe' | 'any', depth = 0): Promise<ConfigFile | undefined> {
    const place = { source: path, line: 0 };
    if (++this.#count > MAX_FILES) throw badConfig(place, `the configuration has more than ${MAX_FILES} files`);
    let bytes: Uint8Array;
    try {
      bytes = await this.#system.read(path);
      if (writers === 'safe' && !(await this.#system.isSafe(path))) {
        throw badConfig(place, 'others than its owner can write it, or it is not yours: chmod go-w, or chown it');
      }
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error instanceof Error && error.name === 'SshError' ? error : fileError('read', path, error);
    }
    if (bytes.length > MAX_CONFIG_FILE) throw badConfig(place, `is larger than ${MAX_CONFIG_FILE} bytes`);
    const file = parseConfig(decodeLenient(bytes), path);
    const lines: ConfigLine[] = [];
    for (const line of file.lines) {
      lines.push(line.keyword === 'include' ? await this.#withFiles(line, path, folder, depth) : line);
    }
    return { ...file, lines };
  }

  async #withFiles(line: ConfigLine, source: string, folder: string, depth: number): Promise<ConfigLine> {
    const place = { source, line: line.line };
    if (depth >= MAX_INCLUDE_DEPTH) throw badConfig(place, `Include goes deeper than ${MAX_INCLUDE_DEPTH} files`);
    const included: ConfigFile[] = [];
    for (const written of line.args) {
      if (written.startsWith('~') && folder !== this.userFolder) {
        throw badConfig(place, `${printable(written)}: a file for everybody cannot include one of a home directory`);
      }
      if (written.startsWith('~') && !written.startsWith('~/')) {
        throw badConfig(
          place,
          `${printable(written)}: homes of other users are not looked up, so write the whole path`,
        );
      }
      const pattern = written.startsWith('~') ? this.#system.home + written.slice(1) : written;
      const whole = /^(?:\/|[A-Za-z]:[/\\])/.test(pattern) ? pattern : `${folder}/${pattern}`;
      for (const path of await this.#paths(whole)) {
        const file = await this.load(path, folder, 'safe', depth + 1);
        if (file !== undefined) included.push(file);
      }
    }
    return { ...line, included };
  }

  /** The paths that match a pattern of glob(7), sorted. */
  async #paths(pattern: string): Promise<readonly string[]> {
    let paths = [''];
    for (const [index, part] of pattern.split('/').entries()) {
      const next: string[] = [];
      for (const path of paths) {
        const under = (name: string): string => (index === 0 ? name : `${path}/${name}`);
        if (!isGlob(part)) next.push(under(part));
        else next.push(...(await this.#names(path === '' ? '/' : path, part)).map(under));
      }
      paths = next;
    }
    return paths;
  }

  async #names(directory: string, part: string): Promise<string[]> {
    const [alternative] = parseGlob(part.replace(/\*+/g, '*').replace(/[{}]/g, '\\$&'));
    const segment = alternative?.segments[0];
    if (segment?.kind !== 'wildcard') return segment === undefined ? [] : [part.replace(/\\(.)/g, '$1')];
    const names = await this.#system.list(directory).catch(() => []);
    return names.filter((name) => matches(segment, name, false)).sort();
  }
}
