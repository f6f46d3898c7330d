/** A client made of the `ssh2` package that `bench/package.json` pins: a plan goes in as JSON, the results come out. See ssh2.ts. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

const [home, text] = process.argv.slice(2);
const { Client } = createRequire(home)('ssh2');
const plan = JSON.parse(text);

function fail(error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

function run(client, command) {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error) return reject(error);
      const result = { code: null, stdout: '', stderr: '' };
      channel.on('data', (chunk) => {
        result.stdout += chunk;
      });
      channel.stderr.on('data', (chunk) => {
        result.stderr += chunk;
      });
      channel.on('exit', (code) => {
        result.code = code;
      });
      channel.on('close', () => resolve(result));
    });
  });
}

async function work(client, sftp, step) {
  const call = (name, ...args) => promisify(sftp[name].bind(sftp))(...args);
  switch (step.do) {
    case 'run':
      return run(client, step.command);
    case 'get':
      return call('fastGet', step.remote, step.local);
    case 'put':
      return call('fastPut', step.local, step.remote);
    case 'list':
      return (await call('readdir', step.remote)).map(({ filename }) => filename);
    case 'remove':
      return call('unlink', step.remote);
    case 'rename':
      return call('rename', step.remote, step.to);
    default:
      return call(step.do, step.remote);
  }
}

const client = new Client();
client.on('error', fail);
client.on('ready', async () => {
  try {
    const wantsFiles = plan.steps.some((step) => step.do !== 'run');
    const sftp = wantsFiles ? await promisify(client.sftp.bind(client))() : undefined;
    const results = [];
    for (const step of plan.steps) results.push((await work(client, sftp, step)) ?? null);
    client.end();
    process.stdout.write(JSON.stringify(results));
  } catch (error) {
    fail(error);
  }
});
client.connect({
  host: '127.0.0.1',
  port: plan.port,
  username: plan.username,
  ...(plan.key ? { privateKey: readFileSync(plan.key) } : { password: plan.password }),
  hostVerifier: (key) => plan.hostKeys.includes(key.toString('base64')),
});
