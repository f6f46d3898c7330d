/** Python's asyncssh. */

import { type Python, pythonClient } from './python.ts';

export const asyncssh: Python = pythonClient('asyncssh', ['get', 'put', 'list', 'remove', 'mkdir', 'rmdir', 'rename']);
