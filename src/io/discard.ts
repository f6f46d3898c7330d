/** Gives up a pipe that nobody has opened. Must not know what kind of pipe it is. */

import type { SshError } from '../errors.ts';
import type { BytePipe, PipeSink } from './pipe.ts';

const nobody: PipeSink = { data() {}, end() {}, drain() {}, closed() {} };

/** Closes a pipe that nothing was done with. */
export function discard(pipe: BytePipe, cause?: SshError): void {
  pipe.open(nobody);
  pipe.close(cause);
}
