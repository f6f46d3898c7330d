/** Who runs this. */

import { userInfo } from 'node:os';
import process from 'node:process';

/** The name, if anybody knows it. Not every runtime tells; the environment is asked first, as it is by most programs. */
export function ownName(): string | undefined {
  const name = process.env.USER || process.env.LOGNAME || process.env.USERNAME || systemName();
  return name === '' || name === 'unknown' ? undefined : name;
}

/** The system may know the number of a user and no name, as in a container. */
function systemName(): string {
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}
