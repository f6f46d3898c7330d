/** What OpenSSH says about authorized_keys: the groups of `vectors/keys/authorized_keys.json`. */

import { readFileSync } from 'node:fs';
import { root } from '../support/root.ts';

export interface LoginRow {
  readonly name: string;
  readonly lines: readonly string[];
  /** Minutes that the time zone of sshd is ahead of UTC. */
  readonly utcOffset?: number;
  readonly logins: readonly {
    readonly key?: string;
    readonly address: string;
    readonly host?: string;
    readonly line?: number;
    readonly withheld?: readonly string[];
    readonly command?: string;
    readonly environment?: Readonly<Record<string, string>>;
  }[];
}

export type AddressRow =
  | { readonly patterns: string; readonly result: 'invalid' }
  | {
      readonly patterns: string;
      readonly result: 'valid';
      readonly matching: readonly string[];
      readonly other: readonly string[];
    };

export interface ForwardRow {
  readonly options: string;
  readonly allowed: readonly (readonly [host: string, port: number])[];
  readonly refused: readonly (readonly [host: string, port: number])[];
}

const groups = JSON.parse(readFileSync(new URL('vectors/keys/authorized_keys.json', root), 'utf8'));

function group<T>(about: string): { readonly now: number; readonly rows: readonly T[] } {
  return groups.find((each: { about: string }) => each.about === about);
}

export const loginRows: readonly LoginRow[] = group<LoginRow>('logins').rows;
/** The time of all logins, in milliseconds since 1970. */
export const loginTime: number = group<LoginRow>('logins').now;
export const addressRows: readonly AddressRow[] = group<AddressRow>('addresses').rows;
export const openRows: readonly ForwardRow[] = group<ForwardRow>('opens').rows;
export const listenRows: readonly ForwardRow[] = group<ForwardRow>('listens').rows;
