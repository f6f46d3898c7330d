/** The Python that has a module: the system's first, since it has the system's packages, which one installed beside it has not. */

import { execFileSync } from 'node:child_process';
import { findProgram } from './peer.ts';

const found = new Map<string, string | undefined>();

/** The path of a Python that can import `module`, if there is one. */
export function pythonWith(module: string): string | undefined {
  if (!found.has(module)) {
    const pythons = ['/usr/bin/python3', findProgram('python3')];
    found.set(
      module,
      pythons.find((path) => path !== undefined && imports(path, module)),
    );
  }
  return found.get(module);
}

function imports(python: string, module: string): boolean {
  try {
    execFileSync(python, ['-W', 'ignore', '-c', `import ${module}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
