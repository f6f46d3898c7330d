// README.md: a server.
import { readFile } from 'node:fs/promises';
import { authorizedKeys, directory, listen, passwords } from '../../../src/node.ts';

const server = await listen({
  port: 2022, // of 127.0.0.1, unless host says otherwise
  hostKeys: [await readFile('host_key')], // made by ssh-keygen -t ed25519 -N '' -f host_key
  auth: {
    publickey: authorizedKeys({ ada: await readFile('ada.pub') }),
    password: passwords({ bob: 'correct horse battery staple' }),
  },
  sftp: directory('/srv/files'),
  session: {
    exec: async (session) => {
      if (session.command !== 'date') return 127; // what a shell says of a command that it does not find
      await session.write(`It is ${new Date().toISOString()}, ${session.login.username}\n`);
      return 0;
    },
  },
  onConnection: ({ peer }) => console.log(peer.address, 'is here'),
});
console.log(server.address?.port, server.fingerprints[0]);
