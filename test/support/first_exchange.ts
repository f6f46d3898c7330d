/** Links on their way through the first key exchange, and how those end that go wrong. */

import assert from 'node:assert/strict';
import { Reader } from '../../src/bytes/reader.ts';
import { type AlgorithmLists, chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { Kexinit } from '../../src/core/negotiate.ts';
import type { SshError } from '../../src/errors.ts';
import { transport } from '../../src/wire/transport.ts';
import type { Chunking } from './feed.ts';
import { Link, type LinkOptions } from './link.ts';
import { memoCrypto } from './memo_crypto.ts';
import { namesOf } from './scripted_peer.ts';

/** A client that offers these algorithms. */
export function offering(lists: Partial<AlgorithmLists>): LinkOptions {
  return { client: { algorithms: chooseAlgorithms(memoCrypto, lists) } };
}

/** A link on which both identified themselves and the client's KEXINIT was taken. */
export function met(chunking: Chunking, options: LinkOptions = {}): { link: Link; kexinit: Kexinit } {
  const link = new Link(chunking, options);
  link.peer.identify();
  return { link, kexinit: link.peer.takeKexinit() };
}

/** The client must have ended with this code, told the peer this reason, and sent no NEWKEYS. */
export function refused(link: Link, code: SshError['code'], reason: number): SshError {
  link.pump();
  const error = link.client.failed(code);
  const left = link.peer.inbox.map(({ payload }) => payload);
  const last = left.pop();
  assert.ok(last !== undefined && last[0] === transport.disconnect.number, 'DISCONNECT is what the client sends last');
  assert.equal(new Reader(last, 1).u32(), reason, error.message);
  assert.ok(!namesOf(left).includes('SSH_MSG_NEWKEYS'), 'no NEWKEYS after a failed key exchange');
  return error;
}
