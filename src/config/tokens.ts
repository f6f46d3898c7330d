/**
 * What stands for something else in values of ssh_config(5): tokens (`%h`), variables of the environment (`${NAME}`) and `~`. In
 * is a text and what the tokens are; the text that comes out is not looked through again.
 */

import { hex, printable, utf8 } from '../bytes/text.ts';
import type { CryptoProvider } from '../crypto/provider.ts';

/** What tokens stand for, by their letter. */
export type Tokens = Readonly<Record<string, string>>;

/** Where values of tokens come from. */
export interface TokenSource {
  readonly home: string;
  readonly host: string;
  readonly originalHost: string;
  readonly hostKeyAlias: string;
  readonly jump: string;
  readonly localHost: string;
  readonly localUser: string;
  readonly port: number;
  readonly user: string;
  /** Absent where users have no number. */
  readonly userId: number | undefined;
  readonly crypto: CryptoProvider;
}

/** All tokens of ssh_config(5), TOKENS, that paths may have. `%C` is computed when it is asked for. */
export function tokensOf(source: TokenSource): Tokens {
  const { home, host, originalHost, jump, localHost, localUser, port, user, userId } = source;
  return {
    '%': '%',
    get C(): string {
      return hex(source.crypto.hashes.sha1.digest(utf8(`${localHost}${host}${port}${user}${jump}`)));
    },
    d: home,
    h: host,
    ...(userId === undefined ? {} : { i: String(userId) }),
    j: jump,
    k: source.hostKeyAlias,
    L: localHost.replace(/\..*$/, ''),
    l: localHost,
    n: originalHost,
    p: String(port),
    r: user,
    u: localUser,
  };
}

/** `text` with its tokens in place, or what is wrong with it. `env`: also `${NAME}`. */
export function expandTokens(
  text: string,
  tokens: Tokens,
  bad: (what: string) => Error,
  env?: Readonly<Record<string, string | undefined>>,
): string {
  return text.replace(/%([\s\S]?)|\$\{([^}]*)(\}?)/g, (whole: string, token: string | undefined, name: string, end) => {
    if (token !== undefined) {
      const value = Object.hasOwn(tokens, token) ? tokens[token] : undefined;
      if (value === undefined) throw bad(`%${printable(token)} in '${printable(text)}' stands for nothing here`);
      return value;
    }
    if (env === undefined) return whole;
    if (end === '') throw bad(`'${printable(text)}' has a \${ without a }`);
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined)
      throw bad(`the environment has no ${printable(name)}, which '${printable(text)}' asks for`);
    return value;
  });
}

/** `path` with a leading `~` replaced by the user's home. */
export function expandTilde(path: string, home: string, bad: (what: string) => Error): string {
  if (!path.startsWith('~')) return path;
  if (path !== '~' && !/^~[/\\]/.test(path)) {
    throw bad(`${printable(path)}: homes of other users are not looked up, so write the whole path`);
  }
  return home.replace(/(?<=.)[/\\]$/, '') + path.slice(1);
}
