/**
 * What happens at `serve`, as lines for people and as JSON. What a line says is a pure function of the event, whose text
 * has been made safe to show.
 */

import process from 'node:process';
import { addressName } from '../transports/connect_error.ts';
import { oneLine } from './exit.ts';
import { jsonLine } from './json_line.ts';
import { print } from './output.ts';
import type { AlgorithmReport } from './report.ts';

/** A client, numbered from 1 in the order in which they come. */
interface Client {
  readonly id: number;
  readonly address: string;
  readonly port: number;
}

/** How somebody tries to log in. */
export interface Credential {
  readonly username: string;
  readonly method: string;
  /** SHA256 fingerprint, where the method is `publickey`. */
  readonly key?: string;
}

/** Something that happened. In JSON the members stand as they do here, behind `event` and `time`. */
export type Happening =
  | ({ readonly event: 'connection' } & Client)
  | ({ readonly event: 'login'; readonly client: string; readonly algorithms?: AlgorithmReport } & Client & Credential)
  | ({ readonly event: 'refused'; readonly reason: string } & Client & Credential)
  | ({ readonly event: 'session' } & Client & { readonly username: string })
  | ({
      readonly event: 'end';
      readonly seconds: number;
      /** Absent: the server ended it. */
      readonly code?: string;
      readonly message?: string;
    } & Client);

/** The line about `happening`, without time and end. */
export function happeningText(happening: Happening): string {
  const who = addressName(happening.address, happening.port);
  switch (happening.event) {
    case 'connection':
      return `${who} connected`;
    case 'login':
      return `${who} logged in as ${credentialText(happening)}, ${happening.client}`;
    case 'refused':
      return `${who} refused ${credentialText(happening)}: ${happening.reason}`;
    case 'session':
      return `${who} started an SFTP session as ${happening.username}`;
    case 'end': {
      const { code, message, seconds } = happening;
      const why = code === undefined ? 'by this server' : `${message} (${code})`;
      return `${who} ended after ${seconds.toFixed(1)} s: ${why}`;
    }
  }
}

function credentialText({ username, method, key }: Credential): string {
  return `${username} with ${key === undefined ? method : `key ${key}`}`;
}

/** Where happenings are written: as lines on standard error, or as one JSON object a line on standard output. */
export class Journal {
  readonly #kind: 'lines' | 'json' | 'none';
  readonly #failed: (error: unknown) => void;

  /** `failed` is told when nobody reads any more. */
  constructor(kind: 'lines' | 'json' | 'none', failed: (error: unknown) => void) {
    this.#kind = kind;
    this.#failed = failed;
  }

  write(happening: Happening): void {
    if (this.#kind === 'lines') {
      process.stderr.write(`${timeText()} ${oneLine(happeningText(happening))}\n`);
    } else if (this.#kind === 'json') {
      print(`${eventJson(happening)}\n`).catch(this.#failed);
    }
  }
}

/** An event as one line of JSON: its name first, then when it was. */
export function eventJson({ event, ...members }: { readonly event: string }): string {
  return jsonLine({ event, time: timeText(), ...members });
}

/** Now, in UTC, to the second. */
function timeText(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
