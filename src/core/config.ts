/** What a connection is told: everything in its place, nothing by default. */

import type { CryptoProvider, RandomSource } from '../crypto/provider.ts';
import type { AlgorithmLists } from './algorithms/lists.ts';
import type { CompressionLibrary } from './compression.ts';
import type { KeepaliveConfig } from './keepalive.ts';
import type { Limits } from './limits.ts';
import type { Quirks } from './quirks.ts';
import type { RekeyLimits } from './rekey.ts';
import type { ClientSide, ServerSide } from './side.ts';

export type ConnectionConfig = CommonConfig & (ClientSide | ServerSide);

/** What both roles are told. */
export interface CommonConfig {
  readonly crypto: CryptoProvider;
  readonly random: RandomSource;
  readonly algorithms: AlgorithmLists;
  /** Absent where `algorithms` offers nothing but `none`. */
  readonly compression?: CompressionLibrary | undefined;
  /** The software version of our identification. */
  readonly software: string;
  readonly rekey: RekeyLimits;
  readonly limits: Limits;
  readonly keepalive: KeepaliveConfig;
  /** Receive window of every channel at first, in bytes. */
  readonly window: number;
  /** The most that it may grow to. */
  readonly maxWindow: number;
  /** The most data bytes in one packet to us. */
  readonly maxPacket: number;
  /** In place of what the table of quirks says about the peer. */
  readonly quirks?: Partial<Quirks>;
}
