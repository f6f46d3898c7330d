/** Python's paramiko. */

import { type Python, pythonClient } from './python.ts';

export const paramiko: Python = pythonClient('paramiko', [
  'get',
  'reget',
  'put',
  'reput',
  'list',
  'remove',
  'mkdir',
  'rmdir',
  'rename',
]);
