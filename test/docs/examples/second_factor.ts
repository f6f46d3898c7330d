// docs/server.md: a key, and then a code.
import { readFile } from 'node:fs/promises';
import { authorizedKeys, directory, type LoginHandlers, listen } from '../../../src/node.ts';

const codes = new Map([['ada', '123456']]); // of a real server these would change
const keys = authorizedKeys({ ada: await readFile('ada.pub') });

const auth: LoginHandlers = {
  async publickey(attempt) {
    const result = await keys(attempt);
    // what the line in the file restricts stays restricted
    return result && { ...result, partial: ['keyboard-interactive'] };
  },
  async keyboardInteractive({ username, steps }, ask) {
    if (steps.at(-1)?.method !== 'publickey') return false; // the key comes first
    const [code] = await ask({ prompts: [{ text: 'Code: ', echo: false }] });
    return code === codes.get(username) && { identity: username };
  },
};

const server = await listen({
  port: 2022,
  hostKeys: [await readFile('host_key')],
  auth,
  sftp: ({ identity }) => directory(`/srv/files/${identity}`), // each user has a directory
});
console.log(server.address?.port);
