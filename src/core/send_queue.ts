/**
 * What waits to be sent, in order, with the key exchange gate: from our KEXINIT to our NEWKEYS only what RFC 4253 §7.1 allows
 * leaves; the rest is held. Bulk channel data never enters this queue: it is pulled while the gate is open.
 */

import { transport } from '../wire/transport.ts';

/** What a waiting payload costs beside its bytes, roughly: a peer can make us keep a great many of a single byte. */
const PAYLOAD_OVERHEAD = 128;

/** Payloads that were taken are dropped from the front of the queue once this many have piled up. */
const COMPACT_AT = 1024;

/** 1–4, 20, 21 and 30–49 may be sent while the gate is closed. */
function passesGate(number: number): boolean {
  return number <= transport.debug.number || (number >= transport.kexinit.number && number < 50);
}

export class SendQueue {
  #ready: Uint8Array[] = [];
  #first = 0;
  #held: Uint8Array[] = [];
  #closed = false;
  #bytes = 0;

  /** Whether anything but key exchange may leave. */
  get gateOpen(): boolean {
    return !this.#closed;
  }

  /** Bytes that wait, held ones included, with what keeping them costs. */
  get bytes(): number {
    return this.#bytes;
  }

  push(payload: Uint8Array): void {
    this.#bytes += payload.length + PAYLOAD_OVERHEAD;
    if (this.#closed && !passesGate(payload[0] as number)) this.#held.push(payload);
    else this.#ready.push(payload);
  }

  /** After our KEXINIT was pushed. */
  closeGate(): void {
    this.#closed = true;
  }

  /** After our NEWKEYS was pushed. `first` goes ahead of all that was held. */
  openGate(first?: Uint8Array): void {
    this.#closed = false;
    if (first !== undefined) this.push(first);
    // not push(...): there may be more than a call can take arguments
    this.#ready = this.#ready.concat(this.#held);
    this.#held = [];
  }

  /** Takes the next payload that may leave now. */
  shift(): Uint8Array | undefined {
    const payload = this.#ready[this.#first];
    if (payload === undefined) return undefined;
    this.#bytes -= payload.length + PAYLOAD_OVERHEAD;
    this.#first++;
    if (this.#first === this.#ready.length) {
      this.#ready = [];
      this.#first = 0;
    } else if (this.#first >= COMPACT_AT) {
      // a peer that keeps the queue from ever running empty must not make us keep what was sent
      this.#ready = this.#ready.slice(this.#first);
      this.#first = 0;
    }
    return payload;
  }

  /** Drops everything: the connection ends. */
  clear(): void {
    this.#ready = [];
    this.#held = [];
    this.#first = 0;
    this.#bytes = 0;
  }
}
