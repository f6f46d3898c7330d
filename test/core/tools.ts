/** What the tests of the core share: the provider, every protection with its figures, checks of errors, vectors. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { concat } from '../../src/bytes/bytes.ts';
import type { DirectionAlgorithms } from '../../src/core/events.ts';
import { type Direction, type KeySource, openFor, sealFor } from '../../src/core/key_schedule.ts';
import type { Traffic } from '../../src/core/packet.ts';
import { plainOpen, plainSeal } from '../../src/core/protection/none.ts';
import type { Open, Seal } from '../../src/core/protection/types.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError, type SshErrorCode } from '../../src/errors.ts';
import { root } from '../support/root.ts';

export const crypto: CryptoProvider = pureProvider;

/** What passed in one direction since its keys were taken, by itself. */
export const traffic = ({ bytes, packets }: Traffic): Traffic => ({ bytes, packets });

/** One way to protect packets, with its figures typed from the texts that define it, not taken from the code. */
export interface Protection {
  readonly name: string;
  readonly algorithms: DirectionAlgorithms | undefined;
  /** Alignment. */
  readonly block: number;
  /** Whether the four bytes of packet_length count for the alignment. */
  readonly counts: boolean;
  /** Bytes after the packet. */
  readonly tag: number;
}

function protection(cipher: string, mac: string | undefined, block: number, counts: boolean, tag: number): Protection {
  const algorithms = { cipher, compression: 'none', ...(mac === undefined ? {} : { mac }) };
  return { name: mac === undefined ? cipher : `${cipher} with ${mac}`, algorithms, block, counts, tag };
}

/** RFC 4253 §6 without keys, everything that can be negotiated by default, and of what is legacy each cipher and each MAC. */
export const plain: Protection = { name: 'none', algorithms: undefined, block: 8, counts: true, tag: 0 };

export const protections: readonly Protection[] = [
  protection('chacha20-poly1305@openssh.com', undefined, 8, false, 16),
  protection('aes128-gcm@openssh.com', undefined, 16, false, 16),
  protection('aes256-gcm@openssh.com', undefined, 16, false, 16),
  ...['aes128-ctr', 'aes192-ctr', 'aes256-ctr'].flatMap((cipher) => [
    protection(cipher, 'hmac-sha2-256', 16, true, 32),
    protection(cipher, 'hmac-sha2-512', 16, true, 64),
    protection(cipher, 'hmac-sha2-256-etm@openssh.com', 16, false, 32),
    protection(cipher, 'hmac-sha2-512-etm@openssh.com', 16, false, 64),
  ]),
  protection('aes128-cbc', 'hmac-sha1', 16, true, 20),
  protection('aes192-cbc', 'hmac-sha1-etm@openssh.com', 16, false, 20),
  protection('aes256-cbc', 'hmac-md5-96', 16, true, 12),
  protection('aes256-cbc', 'hmac-md5-etm@openssh.com', 16, false, 16),
  protection('3des-cbc', 'hmac-md5', 8, true, 16),
  protection('3des-cbc', 'hmac-sha1-96-etm@openssh.com', 8, false, 12),
  protection('3des-cbc', 'hmac-sha2-512', 8, true, 64),
  protection('aes128-ctr', 'hmac-sha1-96', 16, true, 12),
  protection('aes128-ctr', 'hmac-md5-96-etm@openssh.com', 16, false, 12),
];

/** Bytes that differ from their neighbours: `start`, `start + step`, … modulo 256. */
export function pattern(length: number, start = 1, step = 7): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (start + i * step) & 0xff);
}

const source: KeySource = {
  hash: crypto.hashes.sha256,
  secret: pattern(36, 3),
  exchangeHash: pattern(32, 5),
  sessionId: pattern(32, 9),
};

/** A fresh seal; every one of a protection has the same keys. */
export function sealOf({ algorithms }: Protection): Seal {
  return algorithms === undefined ? plainSeal : sealFor(crypto, source, 'toServer', algorithms);
}

/** A fresh open with the keys of `sealOf`, or with those of the other direction. */
export function openOf({ algorithms }: Protection, direction: Direction = 'toServer'): Open {
  return algorithms === undefined ? plainOpen : openFor(crypto, source, direction, algorithms);
}

/** `packet` as it is, under the protection of a fresh seal: for packets that no writer would make. */
export function sealed(protection: Protection, packet: Uint8Array, sequence = 0): Uint8Array {
  const out: Uint8Array[] = [];
  sealOf(protection).seal(sequence, packet.slice(), out);
  return concat(...out);
}

/** What `work` throws; fails when it throws nothing, or anything but an `SshError` with this code. */
export function thrown(code: SshErrorCode, work: () => unknown): SshError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof SshError, `${error} must be an SshError`);
    assert.equal(error.code, code, error.message);
    return error;
  }
  throw new Error(`${code} must be thrown, but nothing is`);
}

/** The group of a vector file, or of several the one that is about `about`. */
export function vectors<Group>(path: string, about?: string): Group {
  const content: unknown = JSON.parse(readFileSync(new URL(`vectors/${path}`, root), 'utf8'));
  const group = Array.isArray(content) ? content.find((each) => each.about === about) : content;
  assert.ok(group !== undefined, `${path} has nothing about ${about}`);
  return group as Group;
}
