/** Where agents are, and sockets to them, in each runtime. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { utf8 } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import { agentPlace } from '../../src/transports/agent_path.ts';
import { acceptedNode } from '../../src/transports/node_socket.ts';
import { api } from '../support/connect.ts';
import { rejectsWith } from '../support/rejects.ts';
import { root } from '../support/root.ts';
import { isThorough } from '../support/thorough.ts';

describe('agentPlace', () => {
  const at = (path: string | undefined, socket: string | undefined, windows = false) =>
    agentPlace(path, { windows, socket, home: () => (windows ? 'C:\\Users\\ada' : '/home/ada') });
  const PIPE = '\\\\.\\pipe\\openssh-ssh-agent';

  it('is what is given, what SSH_AUTH_SOCK names, or nowhere', () => {
    assert.deepEqual(at('/run/agent', '/tmp/other'), { path: '/run/agent', mayBeMissing: false });
    assert.deepEqual(at('~/.agent', undefined), { path: '/home/ada/.agent', mayBeMissing: false });
    assert.deepEqual(at(undefined, '/tmp/agent'), { path: '/tmp/agent', mayBeMissing: false });
    assert.deepEqual([at(undefined, undefined), at(undefined, '')], [undefined, undefined]);
  });

  it('is a pipe on Windows, and there is one that always counts', () => {
    assert.deepEqual(at(undefined, undefined, true), { path: PIPE, mayBeMissing: true });
    assert.deepEqual(at(undefined, '/tmp/ssh-cygwin/agent.1', true), { path: PIPE, mayBeMissing: true });
    assert.deepEqual(at(undefined, '//./pipe/mine', true), { path: '//./pipe/mine', mayBeMissing: false });
    assert.deepEqual(at('\\\\?\\pipe\\mine', undefined, true), { path: '\\\\?\\pipe\\mine', mayBeMissing: false });
  });

  it('refuses paths that can be none', () => {
    for (const [path, windows] of [
      ['', false],
      ['/a\0b', false],
      [7 as unknown as string, false],
      ['C:\\agent', true],
      ['\\\\.\\pipe\\', true],
      ['\\\\server\\pipe\\agent', true],
    ] as const) {
      assert.throws(
        () => at(path, undefined, windows),
        (error) => error instanceof SshError && error.code === 'bad-argument',
        String(path),
      );
    }
  });
});

describe('agent()', () => {
  const folder = mkdtempSync(join(tmpdir(), 'puressh-sockets-'));
  const path = join(folder, 'agent');
  const socket = process.env.SSH_AUTH_SOCK;
  let listener: Server;
  let connections = 0;
  before(async () => {
    const agent = { identities: () => [{ blob: utf8('KEY'), comment: 'ours' }], sign: () => utf8('SIGNATURE') };
    listener = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (accepted) => {
      connections++;
      api.serveAgent(acceptedNode(accepted), agent);
    });
    listener.listen(path);
    await once(listener, 'listening');
  });
  after(() => {
    if (socket === undefined) delete process.env.SSH_AUTH_SOCK;
    else process.env.SSH_AUTH_SOCK = socket;
    listener.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is the agent at a path, with a connection for each call', async () => {
    const agent = api.agent(path);
    assert.deepEqual(await agent.identities(), [{ blob: utf8('KEY'), comment: 'ours' }]);
    assert.deepEqual(await agent.sign(utf8('KEY'), new Uint8Array(100_000), 0), utf8('SIGNATURE'));
    assert.equal(connections, 2);
  });

  it('is the agent that SSH_AUTH_SOCK names, or one without keys', async () => {
    process.env.SSH_AUTH_SOCK = path;
    const agent = api.agent();
    assert.equal((await agent.identities()).length, 1);
    delete process.env.SSH_AUTH_SOCK;
    const none = api.agent();
    assert.deepEqual([await none.identities(), await none.signers()], [[], []]);
    await rejectsWith(none.sign(utf8('KEY'), utf8('x'), 0), 'agent-failed');
  });

  it('says why it cannot be reached', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const where = join(folder, 'nothing');
    const { message } = await rejectsWith(api.agent(where).identities(), 'agent-failed');
    assert.equal(message, `Cannot reach the agent: Cannot connect to ${where}: nothing is there`);
    await rejectsWith(api.agent(join(file, 'below')).identities(), 'agent-failed');
    await rejectsWith(api.agent(file).identities(), 'agent-failed');
  });

  it('keeps no program from ending', isThorough ? {} : { skip: 'done in Node 24' }, () => {
    const entry = fileURLToPath(new URL('src/node.ts', root));
    const answer = 'Uint8Array.of(0, 0, 0, 5, 12, 0, 0, 0, 0)';
    const program = `import { agent } from ${JSON.stringify(entry)};
      import { createServer } from 'node:net';
      const server = createServer((socket) => socket.on('data', () => socket.write(${answer})).unref());
      server.listen(${JSON.stringify(`${path}2`)}, async () => {
        console.log((await agent(${JSON.stringify(`${path}2`)}).identities()).length);
        server.unref();
      });`;
    const options = { encoding: 'utf8', timeout: 20_000 } as const;
    assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', program], options), '0\n');
  });
});
