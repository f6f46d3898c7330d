/** Whom ssh_config(5) trusts: the host key policy that a configuration asks for. */

import { bitLength } from './bytes/mpint.ts';
import { type HostKeyOffer, type HostKeyPolicy, hostKeyError, hostName, keyName } from './client/host_key.ts';
import type { HostConfig } from './config/host_config.ts';
import { placeName } from './config/parse.ts';
import type { MaybePromise } from './crypto/provider.ts';
import { SshError } from './errors.ts';
import { SSH_PORT } from './wire/numbers.ts';

/** Policies over the files of a runtime. */
export interface TrustFiles {
  knownHosts(
    paths: readonly string[],
    options: { readonly update?: boolean; readonly revoked?: string | undefined },
  ): HostKeyPolicy;
  acceptNew(
    path: string,
    options: { readonly update?: boolean; readonly revoked?: string | undefined; readonly hash?: boolean },
  ): HostKeyPolicy;
}

/** Asks a person whether a host key that nobody knows is right; `StrictHostKeyChecking ask`. */
export type AskHostKey = (offer: HostKeyOffer) => MaybePromise<boolean>;

const USER_FILES = ['~/.ssh/known_hosts', '~/.ssh/known_hosts2'];
const GLOBAL_FILES = ['/etc/ssh/ssh_known_hosts', '/etc/ssh/ssh_known_hosts2'];

/** The policy of a configuration; `ask`: for hosts that are not known, where the configuration wants that. */
export function policyOf(config: HostConfig, files: TrustFiles, ask?: AskHostKey): HostKeyPolicy {
  const { userKnownHostsFiles: own = USER_FILES, globalKnownHostsFiles: common = GLOBAL_FILES } = config;
  const update =
    config.updateHostKeys === undefined
      ? config.strictHostKeyChecking === 'accept-new'
      : config.updateHostKeys === true;
  const revoked = config.revokedHostKeys;
  const known = files.knownHosts([...own, ...common], { revoked });
  // those of the whole machine are never changed
  const updates = files.knownHosts(own, { update, revoked });
  const added = files.acceptNew(own[0] ?? (USER_FILES[0] as string), { update, revoked, hash: config.hashKnownHosts });
  return underAlias(config, {
    ...known,
    ...(updates.update && { update: (told) => updates.update?.(told) }),
    async check(offer) {
      refuseSmallRsa(config, offer);
      try {
        await known.check(offer);
      } catch (error) {
        if (!(error instanceof SshError) || error.code !== 'host-key-unknown') throw error;
        if (!(await isAccepted(config, offer, ask))) throw refusal(config, error);
        if (own.length > 0) await added.check(offer);
      }
    },
  });
}

async function isAccepted(config: HostConfig, offer: HostKeyOffer, ask?: AskHostKey): Promise<boolean> {
  if (config.strictHostKeyChecking === 'accept-new') return true;
  return config.strictHostKeyChecking === 'ask' && (await ask?.(offer)) === true;
}

function refusal(config: HostConfig, error: SshError): SshError {
  if (config.strictHostKeyChecking !== 'no') return error;
  const origin = config.sources.get('stricthostkeychecking');
  const place = origin === undefined ? 'the configuration' : placeName(origin);
  return hostKeyError(
    'host-key-unknown',
    `${error.message}. StrictHostKeyChecking no (${place}) would trust whoever answers, which puressh does for ` +
      'insecureAcceptAny() only; accept-new trusts a host that is new, and refuses one whose key has changed',
    error,
  );
}

/** `RequiredRSASize`. */
function refuseSmallRsa(config: HostConfig, offer: HostKeyOffer): void {
  const { key } = offer.key;
  if (config.requiredRsaSize === undefined || key.type !== 'ssh-rsa') return;
  const bits = bitLength(key.key.modulus);
  if (bits >= config.requiredRsaSize) return;
  throw hostKeyError(
    'host-key-mismatch',
    `${hostName(offer.host, offer.port)} shows ${keyName(offer)}, an RSA key of ${bits} bits; RequiredRSASize asks for ` +
      `${config.requiredRsaSize}`,
  );
}

/** `HostKeyAlias`: the host is looked up under another name, whatever its port. */
function underAlias(config: HostConfig, policy: HostKeyPolicy): HostKeyPolicy {
  const { hostKeyAlias: host } = config;
  if (host === undefined) return policy;
  const port = SSH_PORT;
  return {
    check: (offer) => policy.check({ ...offer, host, port }),
    preferredKeyTypes: (_host, _port, crypto) => policy.preferredKeyTypes?.(host, port, crypto) ?? [],
    ...(policy.update && { update: (update) => policy.update?.({ ...update, host, port }) }),
  };
}
