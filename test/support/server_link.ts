/** The line between a core server and a scripted client: moves bytes in memory, cut as the test wants, in both directions. */

import { concat } from '../../src/bytes/bytes.ts';
import type { RandomSource } from '../../src/crypto/provider.ts';
import type { SshError } from '../../src/errors.ts';
import { transport } from '../../src/wire/transport.ts';
import { CoreServer, type ServerConfig, type ServerScript, serverConfig } from './core_server.ts';
import { type Chunking, cut, drawBelow } from './feed.ts';
import { replayedRandom } from './replayed_random.ts';
import { ScriptedClient } from './scripted_client.ts';
import type { EndOptions } from './scripted_end.ts';

export interface ServerLinkOptions {
  readonly server?: Partial<ServerConfig>;
  readonly script?: ServerScript;
  readonly client?: Partial<EndOptions>;
}

export class ServerLink {
  readonly chunking: Chunking;
  readonly server: CoreServer;
  readonly client: ScriptedClient;
  readonly #random: RandomSource;

  constructor(chunking: Chunking, options: ServerLinkOptions = {}) {
    this.chunking = chunking;
    this.#random = replayedRandom('line');
    this.server = new CoreServer(serverConfig(options.server), options.script);
    this.client = new ScriptedClient({ random: replayedRandom('client'), ...options.client });
    this.client.pump = () => this.pump();
  }

  /** Moves bytes until both sides are quiet. */
  pump(): void {
    for (;;) {
      const input = concat(...this.client.takeOutput());
      for (const piece of cut(input, this.chunking, this.#random)) this.server.receive(piece);
      const output = concat(...this.server.takeOutput(this.#budget()));
      for (const piece of cut(output, this.chunking, this.#random)) this.client.receive(piece);
      if (output.length === 0 && input.length === 0) return;
    }
  }

  /** The line breaks, after what is on it has arrived. */
  cut(cause?: SshError): void {
    this.pump();
    this.server.endOfInput(cause);
  }

  /** Lets time pass for the server, with the line working. */
  advance(milliseconds: number): void {
    this.server.advance(milliseconds, () => this.pump());
    this.pump();
  }

  /** Handshake and login. */
  login(): void {
    this.client.handshake();
    this.client.login();
    this.server.only('authenticated');
  }

  /** The server must have ended with this code; returns the reason that it gave in its DISCONNECT. */
  refused(code: SshError['code']): number {
    this.pump();
    this.server.failed(code);
    const { reason } = decodeLast(this.client);
    return reason;
  }

  #budget(): number {
    return this.chunking === 'random' ? 1 + drawBelow(this.#random, 65536) : 262144;
  }
}

/** A link past the handshake, the service granted: the server awaits a request. */
export function servedLink(chunking: Chunking, options: ServerLinkOptions = {}): ServerLink {
  const link = new ServerLink(chunking, options);
  link.client.handshake();
  link.client.requestService();
  return link;
}

function decodeLast(client: ScriptedClient): { readonly reason: number } {
  const payloads = client.until(transport.disconnect.number);
  const last = payloads[payloads.length - 1] as Uint8Array;
  return { reason: new DataView(last.buffer, last.byteOffset).getUint32(1) };
}
