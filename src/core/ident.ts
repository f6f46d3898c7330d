/** Identification lines: RFC 4253 §4.2. Only a server may send other lines first. */

import { copy } from '../bytes/bytes.ts';
import type { ChunkQueue } from '../bytes/chunks.ts';
import { latin1, printable, utf8 } from '../bytes/text.ts';
import { SshError } from '../errors.ts';
import { DisconnectReason } from '../wire/numbers.ts';
import type { Role } from './events.ts';
import type { Limits } from './limits.ts';

const LF = 0x0a;
const CR = 0x0d;

/** What the peer said before its first packet. */
export interface PeerIdentification {
  /** The line without CR LF, byte for byte, as the exchange hash takes it. */
  readonly bytes: Uint8Array;
  /** The line as text, sanitised. */
  readonly text: string;
  /** The lines before it, sanitised. */
  readonly greeting: readonly string[];
}

/** Our line, without CR LF. `software` is the version, with a comment after a space if one is wanted. */
export function formatIdentification(software: string): Uint8Array {
  const line = `SSH-2.0-${software}`;
  if (!/^SSH-2\.0-[\x21-\x2c\x2e-\x7e]+( [\x20-\x7e]*)?$/.test(line) || line.length > 253) {
    throw new SshError(
      'bad-argument',
      `Software version "${printable(software)}" is not usable: printable ASCII without "-", at most 245 characters`,
    );
  }
  return utf8(line);
}

function refuse(message: string): SshError {
  return new SshError('identification', message, {
    fault: 'peer',
    phase: 'identification',
    disconnect: DisconnectReason.protocolVersionNotSupported,
  });
}

/** Reads lines until the identification is there. */
export class IdentificationReader {
  readonly #input: ChunkQueue;
  readonly #receiver: Role;
  readonly #limits: Limits;
  readonly #greeting: string[] = [];

  constructor(input: ChunkQueue, receiver: Role, limits: Limits) {
    this.#input = input;
    this.#receiver = receiver;
    this.#limits = limits;
  }

  /** The peer's identification, or `undefined` while its line is not whole. Throws `identification`. */
  next(): PeerIdentification | undefined {
    for (;;) {
      this.#checkPrefix();
      const at = this.#input.indexOf(LF);
      if (at < 0 || at >= this.#limits.greetingLine) {
        if (at >= 0 || this.#input.length >= this.#limits.greetingLine) throw this.#tooLong();
        return undefined;
      }
      const line = this.#input.take(at + 1) as Uint8Array;
      const identification = this.#line(line);
      if (identification !== undefined) return identification;
    }
  }

  /** What arrived so far, for the error when the peer closes before it identified itself. */
  get heard(): string {
    const rest = this.#input.peek(Math.min(this.#input.length, 200));
    const lines = rest === undefined || rest.length === 0 ? this.#greeting : [...this.#greeting, printable(rest)];
    return lines.join(' | ').slice(0, 400);
  }

  #line(line: Uint8Array): PeerIdentification | undefined {
    const bytes = line.subarray(0, line.length - (line[line.length - 2] === CR ? 2 : 1));
    const text = latin1(bytes);
    if (text.startsWith('SSH-')) {
      this.#checkIdentification(text, line.length);
      return { bytes: copy(bytes), text: printable(text, line.length), greeting: this.#greeting };
    }
    if (text.startsWith('HTTP/')) throw refuse(`The peer speaks HTTP, not SSH: "${printable(text)}"`);
    if (this.#receiver === 'server') throw refuse(`The client sent "${printable(text)}" before its identification`);
    if (this.#greeting.length >= this.#limits.greetingLines) {
      throw refuse(`The peer sent ${this.#limits.greetingLines} lines and no SSH identification`);
    }
    this.#greeting.push(printable(bytes));
    return undefined;
  }

  #checkIdentification(text: string, length: number): void {
    if (length > this.#limits.identification) {
      throw refuse(`The peer's identification is ${length} bytes long; ${this.#limits.identification} are allowed`);
    }
    if (text.includes('\0')) throw refuse(`The peer's identification holds a NUL: "${printable(text)}"`);
    // 1.99 is a server that also speaks SSH 1 (RFC 4253 §5.1)
    if (!/^SSH-(2\.0|1\.99)-./.test(text)) {
      throw refuse(`The peer identifies itself as "${printable(text)}"; puressh speaks SSH 2.0 only`);
    }
  }

  /** Says early, from the first bytes, when what arrives is TLS: an LF in it ends no line. */
  #checkPrefix(): void {
    const first = this.#input.peek(2);
    if (first !== undefined && (first[0] === 0x15 || first[0] === 0x16) && first[1] === 0x03) {
      throw refuse('The peer speaks TLS, not SSH');
    }
  }

  #tooLong(): SshError {
    return refuse(
      `The peer sent ${this.#limits.greetingLine} bytes without an end of line where its identification must stand: "${this.heard}"`,
    );
  }
}
