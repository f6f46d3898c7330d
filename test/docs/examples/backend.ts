// docs/server.md: files that are made when they are read, over a line in memory.
import {
  connectOver,
  createServer,
  generateKey,
  memoryPipes,
  PosixError,
  password,
  passwords,
  pin,
} from '../../../src/node.ts';

const text = (path: string): Uint8Array => {
  if (path === '/now') return new TextEncoder().encode(new Date().toISOString());
  throw new PosixError('ENOENT', path);
};

await using server = await createServer({
  hostKeys: [generateKey()],
  auth: { password: passwords({ ada: 'secret' }) },
  sftp: {
    stat: (path) => (path === '/' ? { permissions: 0o40555 } : { permissions: 0o100444, size: text(path).length }),
    list: () => [{ name: 'now', attrs: { permissions: 0o100444 } }],
    open(path) {
      const content = text(path);
      return { read: (offset, length) => content.slice(offset, offset + length), close() {} };
    },
  },
});

const [here, there] = memoryPipes();
server.serve(there);
const options = { host: 'memory', username: 'ada', auth: [password('secret')], hostKey: pin(server.fingerprints) };
await using ssh = await connectOver(here, options);
await using sftp = await ssh.sftp();
for await (const { name } of sftp.list('/')) console.log(name);
console.log(new TextDecoder().decode(await sftp.readFile('/now')));
