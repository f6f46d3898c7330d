/** What a run stands on: the server, relays before it, and the files. Made as suites ask for them, gone at the end. */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSshd } from '../test/support/peers/openssh.ts';
import type { Peer } from '../test/support/peers/peer.ts';
import { makePlace, mustBeEqual, writeRandomFile } from './place.ts';
import { type Relay, startRelay } from './relay.ts';

/** Bytes of each file of a tree. */
export const TREE_FILE = 4096;

/** Files a directory of a tree. */
const TREE_DIRECTORY = 100;

export class Stage {
  readonly peer: Peer;
  /** The directory of all files. */
  readonly place: string;
  readonly #relays = new Map<number, Promise<Relay>>();
  readonly #made = new Map<string, string>();

  private constructor(peer: Peer, place: string) {
    this.peer = peer;
    this.place = place;
  }

  /** Starts a server, and finds a place with room for `bytes`. */
  static async open(bytes: number): Promise<Stage> {
    const place = makePlace(bytes);
    try {
      return new Stage(await startSshd({ config: ['LogLevel ERROR'] }), place);
    } catch (error) {
      rmSync(place, { recursive: true, force: true });
      throw error;
    }
  }

  /** The relay that adds `delay` milliseconds to the round trip; none for 0. */
  relay(delay: number): Promise<Relay | undefined> {
    if (delay === 0) return Promise.resolve(undefined);
    let relay = this.#relays.get(delay);
    if (relay === undefined) {
      relay = startRelay(this.peer.port, delay).then((started) => {
        this.#knowUnder(started.port);
        return started;
      });
      this.#relays.set(delay, relay);
    }
    return relay;
  }

  /** The host keys again, under the port of a relay. */
  #knowUnder(port: number): void {
    const lines = readFileSync(this.peer.knownHosts, 'utf8').replaceAll(`:${this.peer.port} `, `:${port} `);
    writeFileSync(knownHosts(this.peer, port), lines);
  }

  /** A file of `bytes` random bytes. */
  file(bytes: number): string {
    return this.#make(`file-${bytes}`, (path) => {
      writeRandomFile(path, bytes);
      copyFileSync(path, this.target); // what is written for the first time is slower than what is written again
    });
  }

  /** A directory of `count` files of 4 KiB, at most 100 a directory. */
  tree(count: number): string {
    return this.#make(`tree-${count}`, (path) => {
      for (let at = 0; at < count; at++) {
        const directory = join(path, `part-${Math.floor(at / TREE_DIRECTORY)}`);
        if (at % TREE_DIRECTORY === 0) mkdirSync(directory, { recursive: true });
        writeRandomFile(join(directory, `file-${at}`), TREE_FILE);
      }
    });
  }

  /** A directory of `count` empty files; `nameOfEntry` says what they are called. */
  directory(count: number): string {
    return this.#make(`directory-${count}`, (path) => {
      mkdirSync(path);
      for (let at = 0; at < count; at++) writeFileSync(join(path, nameOfEntry(at)), '');
    });
  }

  #make(name: string, make: (path: string) => void): string {
    let path = this.#made.get(name);
    if (path === undefined) {
      path = join(this.place, name);
      make(path);
      this.#made.set(name, path);
    }
    return path;
  }

  /** Where what is moved goes; `clearTarget` before each use. */
  get target(): string {
    return join(this.place, 'target');
  }

  clearTarget(): void {
    rmSync(this.target, { recursive: true, force: true });
  }

  /** Ends everything that was started, and removes the files. */
  async close(): Promise<void> {
    rmSync(this.place, { recursive: true, force: true });
    for (const relay of this.#relays.values()) await relay.then((started) => started.stop()).catch(() => {});
    await this.peer.stop();
  }
}

/** The known_hosts file of the server; for a relay before it, one under the relay's port. */
export function knownHosts(peer: Peer, port: number): string {
  return port === peer.port ? peer.knownHosts : `${peer.knownHosts}.${port}`;
}

const DIGITS = 6;

export function nameOfEntry(at: number): string {
  return `entry-${String(at).padStart(DIGITS, '0')}`;
}

/** Throws unless `text` names each of `count` entries. */
export function mustName(text: string, count: number): void {
  const names = new Set(text.match(/\bentry-\d{6}\b/g) ?? []);
  if (names.size !== count) throw new Error(`it listed ${names.size} of ${count} entries`);
}

/** Throws when two trees differ in names or content. `right` may also hold the copy under the name of `left`. */
export function treesMustBeEqual(left: string, right: string, name: string): void {
  const inside = join(right, name);
  const copy = statSync(inside, { throwIfNoEntry: false }) === undefined ? right : inside;
  const names = (path: string): string[] => (readdirSync(path, { recursive: true }) as string[]).sort();
  const [expected, found] = [names(left), names(copy)];
  if (expected.join('\n') !== found.join('\n')) {
    throw new Error(`${copy} has ${found.length} names and ${left} ${expected.length}, or they differ`);
  }
  for (const each of expected) {
    if (statSync(join(left, each)).isFile()) mustBeEqual(join(left, each), join(copy, each));
  }
}
