/** Packets that another implementation sealed: see `vectors/ssh/generate.py`. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat, putUint32 } from '../../../src/bytes/bytes.ts';
import { ChunkQueue } from '../../../src/bytes/chunks.ts';
import { fromHex, hex } from '../../../src/bytes/text.ts';
import { ciphers, type DirectionKeys } from '../../../src/core/algorithms/ciphers.ts';
import { macs } from '../../../src/core/algorithms/macs.ts';
import { PacketReader, PacketWriter } from '../../../src/core/packet.ts';
import type { Open, Seal } from '../../../src/core/protection/types.ts';
import { nodeProvider } from '../../../src/crypto/native/node.ts';
import type { CryptoProvider } from '../../../src/crypto/provider.ts';
import { crypto as pure, thrown, vectors } from '../tools.ts';

interface Row {
  readonly name: string;
  readonly cipher: string;
  readonly mac: string | null;
  readonly key: string;
  readonly iv: string;
  readonly macKey: string;
  readonly packets: readonly {
    readonly sequence: number;
    readonly payload: string;
    readonly padding: string;
    readonly sealed: string;
  }[];
}

const { rows } = vectors<{ readonly rows: readonly Row[] }>('ssh/packets.json');

const native = nodeProvider();

function protectionOf(row: Row, crypto: CryptoProvider = pure): { seal: Seal; open: Open } {
  const keys: DirectionKeys = { key: fromHex(row.key), iv: fromHex(row.iv), macKey: fromHex(row.macKey) };
  const cipher = ciphers.get(row.cipher);
  assert.ok(cipher !== undefined);
  if (cipher.kind === 'aead') return { seal: cipher.seal(crypto, keys), open: cipher.open(crypto, keys) };
  const mac = macs.get(row.mac ?? '');
  assert.ok(mac !== undefined);
  return { seal: cipher.seal(crypto, keys, mac), open: cipher.open(crypto, keys, mac) };
}

/** A source that gives `bytes`, and nothing that a packet of the vectors would use after them. */
function fixedRandom(bytes: Uint8Array): (length: number) => Uint8Array {
  return (length) => concat(bytes, new Uint8Array(length - bytes.length));
}

describe('vectors/ssh/packets.json', () => {
  it('has a row for every cipher with every MAC that it can go with', () => {
    const names = [...ciphers].flatMap(([name, { kind }]) =>
      kind === 'aead' ? [name] : [...macs.keys()].map((mac) => `${name} with ${mac}`),
    );
    assert.deepEqual(rows.map((row) => row.name).sort(), names.sort());
    assert.equal(rows.length, 87);
  });

  for (const row of rows) {
    const [first] = row.packets;
    assert.ok(first !== undefined);

    it(`${row.name}: the seal makes these bytes, that of the runtime's cryptography`, () => {
      const { seal } = protectionOf(row, native);
      for (const { sequence, payload, padding, sealed } of row.packets) {
        const body = fromHex(`00${payload}${padding}`);
        body[0] = padding.length / 2;
        const length = new Uint8Array(4);
        putUint32(length, 0, body.length);
        const out: Uint8Array[] = [];
        seal.seal(sequence, concat(length, body), out);
        assert.equal(hex(concat(...out)), sealed, `sequence ${sequence}`);
      }
    });

    it(`${row.name}: the writer makes these packets`, () => {
      const paddings = row.packets.map(({ padding }) => padding).join('');
      const writer = new PacketWriter(fixedRandom(fromHex(paddings)), first.sequence);
      writer.rekey(protectionOf(row).seal, false);
      for (const { sequence, payload, sealed } of row.packets) {
        const out: Uint8Array[] = [];
        writer.write([fromHex(payload)], out);
        assert.equal(hex(concat(...out)), sealed, `sequence ${sequence}`);
      }
    });

    it(`${row.name}: the reader reads these packets, in JavaScript and with the runtime's cryptography`, () => {
      for (const crypto of [pure, native]) {
        const queue = new ChunkQueue();
        for (const { sealed } of row.packets) queue.push(fromHex(sealed));
        const reader = new PacketReader(queue, 35000, first.sequence);
        reader.rekey(protectionOf(row, crypto).open, false);
        for (const { sequence, payload } of row.packets) {
          assert.equal(hex(reader.next() ?? new Uint8Array(0)), payload, `${crypto.name}, sequence ${sequence}`);
        }
      }
    });

    it(`${row.name}: the reader refuses them ${row.mac === null && row.iv !== '' ? 'in another order' : 'under another sequence number'}`, () => {
      // AES-GCM counts its packets by itself (RFC 5647 §7.1), the others authenticate the sequence number
      const gcm = row.mac === null && row.iv !== '';
      const queue = new ChunkQueue();
      queue.push(fromHex(row.packets[gcm ? 1 : 0]?.sealed ?? ''));
      queue.push(new Uint8Array(70000));
      const reader = new PacketReader(queue, 35000, first.sequence + (gcm ? 0 : 1));
      reader.rekey(protectionOf(row).open, false);
      // chacha20 hides the length behind the sequence number too
      thrown(row.iv === '' ? 'protocol' : 'integrity', () => reader.next());
    });
  }
});
