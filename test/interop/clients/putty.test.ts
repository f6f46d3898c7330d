/** PuTTY's plink, psftp and pscp against puressh's server. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { lines } from '../../support/clients/client.ts';
import { useOwnServer } from '../../support/clients/own_server.ts';
import { mustRun, run } from '../../support/clients/process.ts';
import { psftp, putty, options as puttyOptions } from '../../support/clients/putty.ts';
import { clientTests, content, sameBytes } from '../../support/clients/suite.ts';
import { dial } from '../../support/connect.ts';

const LIMIT = { timeout: 60_000 };
const LONG_AGO = 981_173_106; // 2001-02-03 04:05:06 UTC

describe('PuTTY', () => {
  const clients = clientTests(putty);
  const options = { ...clients.options, ...LIMIT };

  it('psftp shows the listing as the server writes it', options, async () => {
    const { server } = clients;
    mkdirSync(join(server.files, 'shown'));
    const path = join(server.files, 'shown', 'with a space');
    writeFileSync(path, 'twelve bytes', { mode: 0o640 });
    utimesSync(path, LONG_AGO, LONG_AGO);
    const owner = lines((await mustRun(['stat', '-c', '%U +%G', path])).stdout)[0];
    const { stdout } = await psftp(server, ['ls /shown']);
    const line = lines(stdout).find((each) => each.includes('with a space'));
    assert.match(line ?? '', new RegExp(`^-rw-r----- +1 ${owner} +12 Feb +3 +2001 with a space$`));
  });

  it('psftp carries trees, and changes permissions', options, async () => {
    const { server } = clients;
    const source = join(server.local, 'tree');
    mkdirSync(join(source, 'deep'), { recursive: true });
    for (const name of ['one', 'deep/two']) writeFileSync(join(source, name), name);
    const again = join(server.local, 'again');
    await psftp(server, [`put -r ${source} /tree`, 'chmod go-rwx /tree/one', `get -r /tree ${again}`]);
    await mustRun(['diff', '-r', source, again]);
    assert.equal(statSync(join(server.files, 'tree', 'one')).mode & 0o777, 0o600);
  });

  it('pscp carries a file each way with its time', options, async () => {
    const { server } = clients;
    const bytes = content(1024 * 1024 + 1);
    const [source, target] = [join(server.local, 'source'), join(server.local, 'target')];
    writeFileSync(source, bytes);
    utimesSync(source, LONG_AGO, LONG_AGO);
    const [login, ...pscp] = [...(await puttyOptions(server))].reverse();
    const command = ['pscp', '-sftp', '-p', ...pscp.reverse()];
    const env = { HOME: server.home };
    await mustRun([...command, source, `${login}:/pscp`], { env });
    await mustRun([...command, `${login}:/pscp`, target], { env });
    for (const path of [join(server.files, 'pscp'), target]) {
      sameBytes(path, bytes);
      assert.equal(statSync(path).mtimeMs / 1000, LONG_AGO);
    }
  });

  it('plink has a terminal when it wants one', options, async () => {
    const { server } = clients;
    const command = ['plink', '-t', ...(await puttyOptions(server)), ':terminal'];
    const { code, stdout } = await run(command, { input: 'q', env: { HOME: server.home } });
    assert.deepEqual([code, stdout.toString()], [0, 'xterm 80x24\r\n']);
  });

  it('plink carries much both ways', options, async () => {
    const { server } = clients;
    const input = content(5 * 1024 * 1024);
    const { code, stdout } = await run(['plink', ...(await puttyOptions(server)), 'cat'], {
      input,
      env: { HOME: server.home },
    });
    assert.equal(code, 0);
    assert.equal(Buffer.compare(stdout, input), 0);
  });

  it('is refused with a wrong password, and refuses a wrong host key itself', options, async () => {
    const { server } = clients;
    const all = await puttyOptions(server, 'password');
    const env = { HOME: server.home };
    const wrong = await run(['plink', ...all.map((word) => (word === server.password ? 'wrong' : word)), 'true'], {
      env,
    });
    assert.notEqual(wrong.code, 0);
    assert.match(wrong.stderr, /password.*not accepted|Access denied|FATAL ERROR/i);
    const pins = all.map((word) => (word.startsWith('SHA256:') ? `SHA256:${'A'.repeat(43)}` : word));
    const unsure = await run(['plink', ...pins, 'true'], { env });
    assert.notEqual(unsure.code, 0);
    assert.match(unsure.stderr, /[Hh]ost key/);
  });
});

describe('PuTTY, forwarding', () => {
  const clients = useOwnServer(putty.unavailable, {
    forward: { connect: ({ host, port }) => dial({ host, port, timeout: 10_000 }) },
  });

  it('plink -nc is a connection to the target', { ...clients.options, ...LIMIT }, async () => {
    const { server } = clients;
    const upper = createServer((socket) => {
      socket.once('data', (chunk) => socket.end(chunk.toString().toUpperCase()));
    });
    upper.listen(0, '127.0.0.1');
    await once(upper, 'listening');
    try {
      const { port } = upper.address() as { port: number };
      const command = ['plink', '-nc', `127.0.0.1:${port}`, ...(await puttyOptions(server))];
      const { stdout, stderr } = await run(command, { input: 'hello', env: { HOME: server.home } });
      assert.equal(stdout.toString(), 'HELLO', stderr);
    } finally {
      upper.close();
    }
  });
});
