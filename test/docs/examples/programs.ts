// docs/server.md: programs and forwarding.
import { readFile } from 'node:fs/promises';
import { authorizedKeys, listen, tcpForwarding } from '../../../src/node.ts';

const server = await listen({
  port: 2022,
  hostKeys: [await readFile('host_key')],
  auth: { publickey: authorizedKeys({ ada: await readFile('ada.pub') }) },
  session: {
    async exec(session) {
      if (session.command !== 'count') {
        await session.writeError('count is all there is\n');
        return 127;
      }
      let bytes = 0;
      for await (const part of session.stdin) bytes += part.length;
      await session.write(`${bytes}\n`);
      return 0;
    },
  },
  forward: tcpForwarding({ connect: ({ host, port }) => host === 'localhost' && port === 5432 }),
});
console.log(server.address?.port);
