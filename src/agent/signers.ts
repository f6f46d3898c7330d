/** The keys of an agent as what signs in puressh. Must not know how the agent is reached. */

import { Reader } from '../bytes/reader.ts';
import { printable } from '../bytes/text.ts';
import { keyTypeOf } from '../keys/public_key.ts';
import { algorithmsOf, plainAlgorithm, type Signer } from '../keys/signature.ts';
import { ifDecodes } from '../keys/signature_body.ts';
import type { Agent, AgentIdentity } from './agent.ts';
import { agentFailed } from './failure.ts';
import { SignFlag } from './messages.ts';

/** What signs with each of `identities`; what is no key at all is left out. `name`: how messages call the agent. */
export function signersOf(agent: Agent, identities: readonly AgentIdentity[], name = 'the agent'): Signer[] {
  return identities.flatMap((identity) => {
    const keyType = ifDecodes(() => keyTypeOf(identity.blob));
    return keyType === undefined ? [] : [signerOf(agent, identity, keyType, name)];
  });
}

function signerOf(agent: Agent, { blob, comment }: AgentIdentity, keyType: string, name: string): Signer {
  const known = algorithmsOf(keyType, true);
  return {
    publicKey: blob,
    keyType,
    // a key of an unknown type signs with an algorithm of the same name, as all but RSA keys do
    algorithms: known.length === 0 ? [keyType] : known,
    comment,
    // many agents ask a person for every signature, and none says so
    queryFirst: true,
    async sign(message, algorithm) {
      const plain = plainAlgorithm(algorithm);
      const flags = { 'rsa-sha2-256': SignFlag.rsaSha256, 'rsa-sha2-512': SignFlag.rsaSha512 }[plain] ?? 0;
      const signature = await agent.sign(blob, message, flags);
      if (signature === undefined) throw agentFailed(`${name} refused to sign`);
      const made = ifDecodes(() => new Reader(signature).name());
      // agents that do not know the flags sign with SHA-1
      if (made === plain || (known.length === 0 && made !== undefined)) return signature;
      const shown = made === undefined ? 'something malformed' : printable(made, 64);
      throw agentFailed(`${name} was asked for a signature by ${printable(plain, 64)} and gave ${shown}`);
    },
  };
}
