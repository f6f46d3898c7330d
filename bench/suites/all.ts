/** All suites, in the order in which they run and are told about. */

import { distance } from './distance.ts';
import { listing } from './listing.ts';
import { local } from './local.ts';
import { pure } from './pure.ts';
import { relay } from './relay.ts';
import { sink } from './sink.ts';
import { small } from './small.ts';
import type { Suite } from './suite.ts';
import { trees } from './trees.ts';
import { lanes, requests, windows } from './tuning.ts';

export const suites: readonly Suite[] = [
  local,
  distance,
  small,
  trees,
  listing,
  pure,
  sink,
  requests,
  windows,
  lanes,
  relay,
];
