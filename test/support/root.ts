/** Where the repository is, from source (`test/support`) and from the compiled copy (`build/test/support`) alike. */

import { existsSync } from 'node:fs';

function find(from: URL): URL {
  const up = new URL('../', from);
  if (existsSync(new URL('package.json', up)) && existsSync(new URL('vectors', up))) return up;
  if (up.href === from.href) throw new Error(`No repository root above ${import.meta.url}`);
  return find(up);
}

/** The repository root, as a `file:` URL that ends in a slash. */
export const root: URL = find(new URL('./', import.meta.url));
