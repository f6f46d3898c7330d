/**
 * Peers that differ from the standards, as data: one table, keyed on the identification line, that callers can see and
 * override. A quirk is a fact about the peer; what follows from it is decided where the fact matters.
 */

/** What a peer does differently. */
export interface Quirks {
  /** Its `server-sig-algs` does not name rsa-sha2-256 and -512 although it verifies them (RFC 8332 §3.3). */
  readonly takesRsaSha2Unsaid: boolean;
  /** It loses a USERAUTH_REQUEST that comes before it has sent SERVICE_ACCEPT, or breaks off. */
  readonly acceptsServiceFirst: boolean;
}

const none: Quirks = { takesRsaSha2Unsaid: false, acceptsServiceFirst: false };

/** The table. All rows that match count. */
export const quirkTable: readonly { readonly peer: RegExp; readonly quirks: Partial<Quirks> }[] = [
  { peer: /^SSH-2\.0-OpenSSH_7\.4/, quirks: { takesRsaSha2Unsaid: true } },
];

/** The quirks of the peer that identifies itself with this line; `overrides` wins over the table. */
export function quirksOf(identification: string, overrides: Partial<Quirks> = {}): Quirks {
  const rows = quirkTable.filter((row) => row.peer.test(identification)).map((row) => row.quirks);
  return Object.assign({}, none, ...rows, overrides);
}
