/** Who may log in at `serve`: one user, with a password, the keys of an authorized_keys file, or either. */

import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { type AuthorizedKeys, isAbout, parseAuthorizedKeys, refusalOf } from '../keys/authorized_keys.ts';
import type { Attempt, LoginHandlers, UserKey } from '../server/handlers.ts';
import { shownBy } from '../server/user_certificates.ts';
import { fileError } from '../transports/file_error.ts';
import { bad } from './arg_values.ts';
import type { Library } from './entry.ts';
import { readFirstLine } from './first_line.ts';
import { ownName } from './own_name.ts';
import { isUserName, type ServeCommand } from './serve_args.ts';
import type { Visitors } from './visitors.ts';

/** Where nobody knows who runs this. */
const NAMELESS = 'puressh';

/** What was settled before anybody can come. */
export interface Admission {
  readonly username: string;
  /** A password that nobody chose: it has to be told. */
  readonly madePassword?: string;
  /** What is worth knowing about the authorized_keys file. */
  readonly notices: readonly string[];
  handlers(visitors: Visitors): LoginHandlers;
}

/** Rejects with `bad-argument` or `bad-local-file`. */
export async function admissionOf(command: ServeCommand, library: Library): Promise<Admission> {
  const username = command.username ?? defaultName();
  const { authorizedKeys: file } = command;
  const given = command.passwordStdin ? await passwordFromInput() : command.password;
  const notices = file === undefined ? [] : noticesAbout(file, await keysIn(file), given !== undefined);
  const madePassword = given === undefined && file === undefined ? makePassword() : undefined;
  const password = given ?? madePassword;
  return {
    username,
    ...(madePassword === undefined ? {} : { madePassword }),
    notices,
    handlers: (visitors) => ({
      ...(password === undefined ? {} : passwordHandler(library, { [username]: password }, visitors)),
      ...(file === undefined ? {} : keyHandler(library, username, file, visitors)),
    }),
  };
}

function defaultName(): string {
  const name = ownName();
  return name !== undefined && isUserName(name) ? name : NAMELESS;
}

async function passwordFromInput(): Promise<string> {
  const password = await readFirstLine(process.stdin);
  if (password !== '') return password;
  throw bad('Standard input begins with an empty line, which is no password');
}

/** Letters and digits that are not taken for each other. Their number divides 256, so each is as likely. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789';
/** 5 bits a letter: with 80 bits nobody guesses it over the network. */
const LENGTH = 16;

/** Four groups of four letters. */
function makePassword(): string {
  const letters = [...crypto.getRandomValues(new Uint8Array(LENGTH))].map((byte) => LETTERS[byte % LETTERS.length]);
  return [0, 4, 8, 12].map((at) => letters.slice(at, at + 4).join('')).join('-');
}

function passwordHandler(
  library: Library,
  users: Readonly<Record<string, string>>,
  visitors: Visitors,
): Pick<LoginHandlers, 'password'> {
  const check = library.passwords(users);
  return {
    async password(attempt) {
      const result = await check(attempt);
      if (result === false) visitors.refused(attempt, { method: 'password' }, 'wrong name or password');
      return result;
    },
  };
}

/** The file is read for every attempt, so that a key that is taken out of it is out at once. */
function keyHandler(
  library: Library,
  username: string,
  file: string,
  visitors: Visitors,
): Pick<LoginHandlers, 'publickey'> {
  return {
    async publickey(attempt) {
      const content = await contentOf(file);
      const result = await library.authorizedKeys((name) => (name === username ? content : undefined))(attempt);
      if (result !== false) return result;
      const how = { method: 'publickey', key: attempt.key.fingerprint };
      visitors.refused(attempt, how, refusalReason(username, parseAuthorizedKeys(content), attempt));
      return false;
    },
  };
}

function refusalReason(
  username: string,
  { keys }: AuthorizedKeys,
  attempt: Attempt & { readonly key: UserKey },
): string {
  if (attempt.username !== username) return 'wrong name';
  const entry = keys.find((line) => isAbout(line, shownBy(attempt.key)));
  if (entry === undefined) return 'not among the authorized keys';
  const { certificate, presence } = attempt.key;
  const why = refusalOf(entry, { now: Date.now(), address: attempt.peer.address, username, presence }, certificate);
  return `line ${entry.line}: ${why ?? 'the command of the certificate is another than that of the line'}`;
}

async function keysIn(file: string): Promise<AuthorizedKeys> {
  return parseAuthorizedKeys(await contentOf(file));
}

async function contentOf(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    throw fileError('read the authorized keys in', file, error);
  }
}

/** Throws where nobody could log in. */
function noticesAbout(file: string, { keys, refused }: AuthorizedKeys, hasPassword: boolean): string[] {
  const shown = printable(file, 1024);
  const lines = refused.map(({ line, reason }) => `${shown}:${line} lets nobody in: ${reason}`);
  if (keys.length === 0 && !hasPassword) {
    const why = lines.length === 0 ? 'it has no key' : lines.join('; ');
    throw new SshError('bad-local-file', `Nobody could log in with ${shown}: ${why}`, {
      operation: 'read',
      path: shown,
    });
  }
  const bound = keys.filter(({ options }) => options.command !== undefined);
  const useless = bound.map(({ line }) => `${shown}:${line} binds its key to a command, and serve runs none`);
  return [...lines, ...useless];
}
