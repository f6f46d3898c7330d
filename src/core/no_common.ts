/** What is said where two sides have no algorithm in common: both lists, and the option that would help. */

import { printable } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import { type AlgorithmCategory, knownAlgorithms, legacyAlgorithms } from './algorithms/lists.ts';
import type { Role } from './events.ts';

/** What a name of each category is called. */
const WORDS: Readonly<Record<AlgorithmCategory, string>> = {
  kex: 'key exchange method',
  hostKeys: 'host key algorithm',
  ciphers: 'cipher',
  macs: 'MAC',
  compression: 'compression',
};

/** `no-common-algorithm`: names in both lists that are no algorithms are to be left out before. `role` is ours. */
export function noCommon(
  category: AlgorithmCategory,
  ours: readonly string[],
  theirs: readonly string[],
  role: Role,
): SshError {
  const message =
    `No common ${WORDS[category]}: we offer ${show(ours)}; the peer offers ${show(theirs)}. ` +
    advice(category, ours, theirs, role);
  return new SshError('no-common-algorithm', message, {
    fault: 'policy',
    phase: 'key-exchange',
    disconnect: DisconnectReason.keyExchangeFailed,
  });
}

function show(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map((name) => printable(name, 64)).join(', ');
}

/** What puressh could speak with the peer, the strong ones first. */
function helpful(category: AlgorithmCategory, ours: readonly string[], theirs: readonly string[]): readonly string[] {
  const known = knownAlgorithms(category).filter((name) => theirs.includes(name) && !ours.includes(name));
  const weak = (name: string): boolean => legacyAlgorithms[category].includes(name);
  return [...known.filter((name) => !weak(name)), ...known.filter(weak)];
}

function advice(category: AlgorithmCategory, ours: readonly string[], theirs: readonly string[], role: Role): string {
  const [name] = helpful(category, ours, theirs);
  if (name === undefined) return `puressh knows none of the peer's: it has to offer another`;
  const weak = legacyAlgorithms[category].includes(name);
  const set = `algorithms: { ${category}: '+${name}' }`;
  const preset = weak ? `, or algorithms: 'legacy' to allow everything that is weak` : '';
  if (category === 'compression' && ours.every((each) => each === 'none')) {
    return 'To compress, set compression: zlibFrom(pako)';
  }
  if (category === 'hostKeys' && role === 'server') {
    const also = weak ? `, and set ${set}${preset}` : '';
    return `Give hostKeys a key that signs with ${name}${also}`;
  }
  return `To allow ${weak ? 'this weak one' : 'it'}, set ${set}${preset}`;
}
