// docs/server.md: programs and forwarding.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { Duplex } from 'node:stream';
import { authorizedKeys, type ByteStreams, listen } from '../../../src/node.ts';

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
  forward: {
    async connect({ host, port }) {
      if (host !== 'localhost' || port !== 5432) return undefined; // refused
      const socket = createConnection(port, '127.0.0.1');
      await once(socket, 'connect');
      return Duplex.toWeb(socket) as ByteStreams;
    },
  },
});
console.log(server.address?.port);
