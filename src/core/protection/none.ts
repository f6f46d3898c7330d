/** No protection: before the first NEWKEYS (RFC 4253 §6). */

import { uint32At } from '../../bytes/bytes.ts';
import { LENGTH_SIZE, type Open, type Seal } from './types.ts';

const framing = { blockSize: 8, lengthCounts: true, tagSize: 0 } as const;

export const plainSeal: Seal = {
  ...framing,
  seal(_sequence, packet, out) {
    out.push(packet);
  },
};

export const plainOpen: Open = {
  ...framing,
  headerSize: LENGTH_SIZE,
  length: (_sequence, header) => uint32At(header, 0),
  open: (_sequence, packet) => packet.subarray(LENGTH_SIZE),
};
