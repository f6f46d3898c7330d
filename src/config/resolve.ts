/**
 * ssh_config(5) for one host: files in, typed values out, with what OpenSSH would take. Knows no file system: the files come
 * parsed, with those that they include.
 */

import type { CryptoProvider, MaybePromise } from '../crypto/provider.ts';
import { SshError } from '../errors.ts';
import { SSH_PORT } from '../wire/numbers.ts';
import type { ConfigOrigin, ConfiguredAlgorithms, HostConfig } from './host_config.ts';
import type { ConfigValues } from './keywords.ts';
import { badConfig, type ConfigFile } from './parse.ts';
import { type Findings, readFor, type WrittenPath } from './reading.ts';
import { expandTilde, expandTokens, type Tokens, tokensOf } from './tokens.ts';

/** Whom the configuration is for, and what this machine is. */
export interface ConfigQuery {
  /** As the user names it; a name that `Host` knows, or of the network. */
  readonly host: string;
  /** Given beside the files; options (`parseConfigOptions`) come before it, files behind it. */
  readonly user?: string | undefined;
  readonly localUser: string;
  /** The user's number, for `%i`. */
  readonly userId?: number | undefined;
  /** The user's home directory. */
  readonly home: string;
  /** The name of this machine. */
  readonly localHost: string;
  /** The environment, for `${NAME}`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly crypto: CryptoProvider;
  /**
   * Runs the command of `Match exec`, tokens in place, and says whether it succeeded. Absent: a file with such a line that would
   * be run is refused with `bad-config`. puressh itself never runs one.
   */
  matchExec?(command: string): MaybePromise<boolean>;
}

/** All ways to log in, in OpenSSH's order. */
const AUTH_METHODS = ['publickey', 'keyboard-interactive', 'password'] as const;

/**
 * The configuration of one host; earlier files come before later ones. Rejects with `bad-config`, which names file and line, or
 * `not-supported` for a keyword that cannot be passed over.
 */
export async function resolveConfig(files: readonly ConfigFile[], query: ConfigQuery): Promise<HostConfig> {
  const { matchExec } = query;
  const found = await readFor(files, {
    host: query.host,
    user: query.user,
    localUser: query.localUser,
    ...(matchExec && {
      exec(command, values, host, bad) {
        const tokens = tokensFor(query, values, host, values.hostKeyAlias ?? host);
        return matchExec.call(query, expandTokens(command, tokens, bad));
      },
    }),
  });
  return new Result(found, query).config();
}

function tokensFor(query: ConfigQuery, values: ConfigValues, host: string, hostKeyAlias: string): Tokens {
  const { proxy, user = query.localUser, port = SSH_PORT } = values;
  return tokensOf({
    ...query,
    userId: query.userId,
    originalHost: query.host,
    host,
    hostKeyAlias,
    port,
    user,
    jump: proxy !== undefined && 'jump' in proxy && proxy.jump.length > 0 ? proxy.text : '',
  });
}

class Result {
  readonly #found: Findings;
  readonly #query: ConfigQuery;
  readonly #tokens: Tokens;

  constructor(found: Findings, query: ConfigQuery) {
    this.#found = found;
    this.#query = query;
    const { values, host } = found;
    this.#tokens = tokensFor(query, values, host, values.hostKeyAlias ?? query.host);
  }

  config(): HostConfig {
    const { values, host, sources, ignored } = this.#found;
    const { localUser } = this.#query;
    const { hostKeyAlias, requiredRsaSize } = values;
    const seconds = values.connectTimeout ?? 0;
    return {
      originalHost: this.#query.host,
      host,
      port: values.port ?? SSH_PORT,
      user: values.user ?? localUser,
      userGiven: values.user !== undefined,
      ...this.#identities(),
      ...this.#proxyJump(),
      ...this.#trust(),
      ...(hostKeyAlias === undefined ? {} : { hostKeyAlias }),
      ...(requiredRsaSize === undefined ? {} : { requiredRsaSize }),
      algorithms: algorithmsOf(values),
      ...(seconds > 0 ? { connectTimeout: seconds * 1000 } : {}),
      serverAliveInterval: (values.serverAliveInterval ?? 0) * 1000,
      serverAliveCountMax: values.serverAliveCountMax ?? 3,
      compression: values.compression ?? false,
      forwardAgent: this.#forwardAgent(),
      batchMode: values.batchMode ?? false,
      ...authMethodsOf(values),
      ignored,
      sources,
    };
  }

  #identities(): Pick<HostConfig, 'identityFiles' | 'certificateFiles' | 'identitiesOnly' | 'identityAgent'> {
    const { values, identityFiles, certificateFiles } = this.#found;
    const { identityAgent: agent } = values;
    const paths = (list: readonly WrittenPath[]): string[] =>
      list.filter(({ path }) => path.toLowerCase() !== 'none').map(({ path, origin }) => this.#path(path, origin));
    return {
      ...(identityFiles.length === 0 ? {} : { identityFiles: paths(identityFiles) }),
      certificateFiles: paths(certificateFiles),
      identitiesOnly: values.identitiesOnly ?? false,
      ...(agent === undefined || agent === 'SSH_AUTH_SOCK'
        ? {}
        : { identityAgent: this.#agentPath(agent, 'identityagent') ?? 'none' }),
    };
  }

  /** The path of an agent, which may also be named by a variable of the environment: `$NAME`. */
  #agentPath(text: string, keyword: string): string | undefined {
    if (text === 'none') return text;
    const name = /^\$([A-Za-z_]\w*)$/.exec(text)?.[1];
    return name === undefined ? this.#path(text, this.#origin(keyword)) : this.#query.env[name];
  }

  #forwardAgent(): boolean | string {
    const { forwardAgent = false } = this.#found.values;
    if (typeof forwardAgent === 'boolean') return forwardAgent;
    const path = this.#agentPath(forwardAgent, 'forwardagent');
    if (path !== undefined) return path;
    throw badConfig(this.#origin('forwardagent'), `the environment has no ${forwardAgent} that ForwardAgent names`);
  }

  #proxyJump(): Pick<HostConfig, 'proxyJump'> {
    const { proxy } = this.#found.values;
    if (proxy === undefined || !('jump' in proxy)) return { proxyJump: [] };
    const bad = (what: string): Error => badConfig(this.#origin('proxyjump'), what);
    const expand = (text: string): string => expandTokens(text, this.#tokens, bad);
    return {
      proxyJump: proxy.jump.map(({ user, host, port }) => ({
        ...(user === undefined ? {} : { user: expand(user) }),
        host: expand(host),
        ...(port === undefined ? {} : { port }),
      })),
    };
  }

  #trust(): Pick<
    HostConfig,
    | 'userKnownHostsFiles'
    | 'globalKnownHostsFiles'
    | 'strictHostKeyChecking'
    | 'updateHostKeys'
    | 'revokedHostKeys'
    | 'hashKnownHosts'
  > {
    const { values } = this.#found;
    const { userKnownHosts: own, globalKnownHosts: common, updateHostKeys, revokedHostKeys: revoked } = values;
    const bad = (what: string): Error => badConfig(this.#origin('globalknownhostsfile'), what);
    const files = (list: readonly string[]): readonly string[] => list.filter((path) => path.toLowerCase() !== 'none');
    return {
      ...(own && {
        userKnownHostsFiles: files(own).map((each) => this.#path(each, this.#origin('userknownhostsfile'))),
      }),
      // as OpenSSH: no tokens here
      ...(common && { globalKnownHostsFiles: files(common).map((each) => expandTilde(each, this.#query.home, bad)) }),
      strictHostKeyChecking: values.strictHostKeyChecking ?? 'ask',
      ...(updateHostKeys === undefined ? {} : { updateHostKeys }),
      ...(revoked === undefined || revoked.toLowerCase() === 'none'
        ? {}
        : { revokedHostKeys: this.#path(revoked, this.#origin('revokedhostkeys')) }),
      hashKnownHosts: values.hashKnownHosts ?? false,
    };
  }

  #path(path: string, origin: ConfigOrigin): string {
    const bad = (what: string): Error => badConfig(origin, what);
    const { home, env } = this.#query;
    return expandTokens(expandTilde(path, home, bad), this.#tokens, bad, env);
  }

  #origin(keyword: string): ConfigOrigin {
    const origin = this.#found.sources.get(keyword);
    if (origin === undefined) throw new SshError('internal', `Nobody has noted where ${keyword} was read`);
    return origin;
  }
}

function algorithmsOf(values: ConfigValues): ConfiguredAlgorithms {
  const { kex, hostKeys, ciphers, macs, signatures } = values;
  const given = Object.entries({ kex, hostKeys, ciphers, macs, signatures });
  return Object.fromEntries(given.filter(([, list]) => list !== undefined));
}

function authMethodsOf(values: ConfigValues): Pick<HostConfig, 'authMethods' | 'authOrderGiven'> {
  const { publicKeys = true, passwords = true, keyboardInteractive = true, preferredMethods } = values;
  const allowed: Readonly<Record<string, boolean>> = {
    publickey: publicKeys,
    'keyboard-interactive': keyboardInteractive,
    password: passwords,
  };
  const order = preferredMethods?.split(',').map((each) => each.trim()) ?? AUTH_METHODS;
  return {
    authMethods: order.filter((each) => allowed[each] === true),
    authOrderGiven: preferredMethods !== undefined,
  };
}
