/** `puressh keyscan`: the host keys that servers show, in lines of known_hosts. Nothing is trusted: each connection ends with the key. */

import process from 'node:process';
import { type HostKeyOffer, hostName } from '../client/host_key.ts';
import { SshError } from '../errors.ts';
import { formatKnownHostsLine } from '../keys/known_hosts.ts';
import { certificateName } from '../keys/signature.ts';
import { type Library, loadLibrary } from './entry.ts';
import { EXIT_FAILED, errorText } from './exit.ts';
import { KEY_KINDS, type KeyKind, type KeyscanCommand } from './keyscan_args.ts';
import { print } from './output.ts';

/** Servers that are asked at once. */
const AT_ONCE = 16;

/** 0 if every server showed a key. */
export async function keyscan(command: KeyscanCommand, signal: AbortSignal): Promise<number> {
  const library = await loadLibrary();
  const waiting = [...command.hosts];
  let failed = false;
  const worker = async (): Promise<void> => {
    for (let host = waiting.shift(); host !== undefined; host = waiting.shift()) {
      if (!(await scan(library, command, host, signal))) failed = true;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, waiting.length) }, worker));
  return failed ? EXIT_FAILED : 0;
}

/** Whether the host has shown a key. What went wrong is told on standard error. */
async function scan(library: Library, command: KeyscanCommand, host: string, signal: AbortSignal): Promise<boolean> {
  const { port, kinds, hash } = command;
  const found = await Promise.all(kinds.map((kind) => keyOf(library, command, host, kind, signal)));
  const offers = found.filter((each) => each !== undefined && !(each instanceof SshError)) as HostKeyOffer[];
  for (const { hostKey, crypto } of offers) {
    await print(`${formatKnownHostsLine(host, port, hostKey, hash ? crypto : undefined)}\n`);
  }
  if (offers.length > 0) return true;
  const error = found.find((each) => each instanceof SshError);
  const text = error instanceof SshError ? errorText(error) : 'the server has no key of the kinds that were asked for';
  process.stderr.write(`puressh: ${hostName(host, port)}: ${text}\n`);
  return false;
}

/** The key of a kind that the host shows; `undefined` if it has none. */
async function keyOf(
  library: Library,
  { port, certificates, timeout, crypto }: KeyscanCommand,
  host: string,
  kind: KeyKind,
  signal: AbortSignal,
): Promise<HostKeyOffer | SshError | undefined> {
  const plain = KEY_KINDS[kind];
  let shown: HostKeyOffer | undefined;
  try {
    const ssh = await library.connect({
      host,
      port,
      username: 'keyscan',
      auth: [],
      hostKey: {
        check(offer) {
          shown = offer;
          throw new SshError('host-key-unknown', 'The key is all that was wanted', { fault: 'policy' });
        },
      },
      // old servers show their keys too
      algorithms: { preset: 'legacy', hostKeys: certificates ? plain.map(certificateName) : plain },
      timeouts: { connect: timeout, identification: timeout, keyExchange: timeout },
      crypto,
      signal,
    });
    await ssh.close();
    return undefined;
  } catch (error) {
    if (shown !== undefined) return shown;
    if (!(error instanceof SshError) || error.code === 'aborted') throw error;
    return error.code === 'no-common-algorithm' && /host key/i.test(error.message) ? undefined : error;
  }
}
