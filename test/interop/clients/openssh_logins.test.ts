/** How OpenSSH's client logs in to puressh's server: keys of every kind, questions, several methods, and refusals. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { LoginHandlers } from '../../../src/server/handlers.ts';
import { askpass, options as sshOptions, unavailable } from '../../support/clients/openssh.ts';
import { type OwnServer, PASSWORD, useOwnServer } from '../../support/clients/own_server.ts';
import { type Ended, mustRun, run } from '../../support/clients/process.ts';
import { api } from '../../support/connect.ts';
import { type KeyName, keyNames, testKeys } from '../../support/peers/keys.ts';

const LIMIT = { timeout: 60_000 };
const USES = 'PreferredAuthentications=';

interface How {
  /** Paths of private keys, in order. */
  readonly keys?: readonly string[];
  /** Options that win over the usual ones. */
  readonly options?: readonly string[];
  /** To the questions, by a part of each. */
  readonly answers?: Readonly<Record<string, string>>;
  readonly username?: string;
}

/** Runs `echo in` after a login that goes like this. */
function login(server: OwnServer, how: How, command = 'echo in'): Promise<Ended> {
  const { keys = [], options = [], answers, username = server.username } = how;
  const [, , ...usual] = sshOptions(server, 'password');
  // the first value of an option counts, and every key does
  const own = [
    '-F',
    '/dev/null',
    ...options.flatMap((option) => ['-o', option]),
    ...keys.flatMap((key) => ['-i', key]),
  ];
  const words = ['ssh', ...own, ...usual, '-p', String(server.port), '-l', username, server.host, command];
  return run(words, answers === undefined ? {} : { env: askpass(server, answers) });
}

function isIn(ended: Ended): void {
  assert.deepEqual([ended.code, ended.stdout.toString()], [0, 'in\n'], ended.stderr);
}

function isOut(ended: Ended, methods: string): void {
  assert.equal(ended.code, 255, ended.stderr);
  assert.match(ended.stderr, new RegExp(`Permission denied \\(${methods}\\)`));
}

const publickey = [`${USES}publickey`, 'PubkeyAuthentication=yes'];

/** A key that nobody knows. */
async function stranger(server: OwnServer, name = 'stranger'): Promise<string> {
  const path = join(server.home, name);
  if (!existsSync(path)) await mustRun(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', path]);
  return path;
}

describe('a login with OpenSSH', () => {
  const BANNER = 'Authorised people only.\nGrüße!\n';
  const clients = useOwnServer(unavailable(), { banner: BANNER });
  const options = { ...clients.options, ...LIMIT };

  for (const name of keyNames) {
    const algorithms = name === 'rsa' ? ['rsa-sha2-256', 'rsa-sha2-512'] : [''];
    for (const algorithm of algorithms) {
      it(`takes the ${name} key${algorithm && ` with ${algorithm}`}`, options, async () => {
        const { server } = clients;
        const more = algorithm === '' ? [] : [`PubkeyAcceptedAlgorithms=${algorithm}`];
        isIn(await login(server, { keys: [server.keys[name].openssh], options: [...publickey, ...more] }));
        const [step] = server.connections.at(-1)?.login?.steps ?? [];
        assert.equal(step?.key?.fingerprint, await fingerprintOf(`${server.keys[name].openssh}.pub`));
      });
    }
  }

  it('shows the banner, whatever comes of it', options, async () => {
    const { server } = clients;
    const good = await login(server, { answers: { password: PASSWORD } });
    const bad = await login(server, { answers: { password: 'wrong' } });
    for (const { stderr } of [good, bad]) assert.ok(stderr.replaceAll('\r', '').includes(BANNER), stderr);
    isIn(good);
  });

  it('refuses a wrong password, as often as it comes, and then disconnects', options, async () => {
    const { server } = clients;
    isOut(await login(server, { answers: { password: 'wrong' } }), 'publickey,password');
    const often = await login(server, { options: ['NumberOfPasswordPrompts=20'], answers: { password: 'wrong' } });
    assert.equal(often.code, 255);
    assert.match(often.stderr, /Received disconnect from .*[Tt]oo many/);
    assert.equal(often.stderr.match(/try again/g)?.length, 5, 'OpenSSH takes six by default');
  });

  it('refuses a user that is none like a wrong password', options, async () => {
    const { server } = clients;
    for (const username of ['nobody', 'constructor', '', 'grün']) {
      isOut(await login(server, { username, answers: { password: PASSWORD } }), 'publickey,password');
    }
  });

  it('refuses a key that nobody knows', options, async () => {
    const { server } = clients;
    isOut(await login(server, { keys: [await stranger(server)], options: publickey }), 'publickey,password');
  });

  it('finds the right key behind twenty others', options, async () => {
    const { server } = clients;
    const others = Array.from({ length: 20 }, (_, i) => stranger(server, `stranger-${i}`));
    const keys = [...(await Promise.all(others)), server.keys.ecdsa384.openssh];
    isIn(await login(server, { keys, options: publickey }));
  });

  it('refuses a key whose signatures the server does not take', options, async () => {
    const { server } = clients;
    const more = [...publickey, 'PubkeyAcceptedAlgorithms=ssh-rsa'];
    isOut(await login(server, { keys: [server.keys.rsa.openssh], options: more }), 'publickey,password');
  });
});

async function fingerprintOf(path: string): Promise<string | undefined> {
  return (await mustRun(['ssh-keygen', '-l', '-f', path])).stdout.toString().split(' ')[1];
}

const mayLogIn = api.authorizedKeys({ ada: '' });
const known = (names: readonly KeyName[]) => names.map((name) => `${testKeys().user[name].public}\n`).join('');

/** A server for one set of functions, of which the tests of a `describe` run. */
function use(auth: () => LoginHandlers) {
  const reason = unavailable();
  const clients = useOwnServer(reason, reason === undefined ? { auth: auth() } : { auth: { publickey: mayLogIn } });
  return { clients, options: { ...clients.options, ...LIMIT } };
}

describe('questions to OpenSSH', () => {
  const { clients, options } = use(() => ({
    async keyboardInteractive({ username }, ask) {
      const prompts = [
        { text: 'Name of your first pet: ', echo: true },
        { text: 'Code: ', echo: false },
      ];
      const [pet, code] = await ask({ title: 'First', instruction: `Two questions to ${username}`, prompts });
      const [color] = await ask({ instruction: 'And one more', prompts: [{ text: 'Color? ', echo: true }] });
      // a round without questions just tells something; the client answers it all the same
      const none = await ask({ title: 'Thank you', prompts: [] });
      return pet === 'Bello' && code === '12 34' && color === 'grün' && none.length === 0;
    },
  }));
  const method = ['KbdInteractiveAuthentication=yes', `${USES}keyboard-interactive`];

  it('are answered in rounds', options, async () => {
    const answers = { 'first pet': 'Bello', Code: '12 34', Color: 'grün' };
    const ended = await login(clients.server, { options: method, answers });
    isIn(ended);
    const said = ended.stderr.replaceAll('\r', '');
    for (const part of ['First', 'Two questions to ada', 'And one more', 'Thank you'])
      assert.ok(said.includes(part), said);
    assert.deepEqual(
      clients.server.connections.at(-1)?.login?.steps.map((step) => step.method),
      ['keyboard-interactive'],
    );
  });

  it('are put again when an answer was wrong', options, async () => {
    const answers = { 'first pet': 'Bello', Code: 'no', Color: 'grün' };
    const more = [...method, 'NumberOfPasswordPrompts=2'];
    const ended = await login(clients.server, { options: more, answers });
    isOut(ended, 'keyboard-interactive');
    assert.equal(ended.stderr.match(/Thank you/g)?.length, 2);
  });
});

describe('a password that has to be changed, with OpenSSH', () => {
  const { clients, options } = use(() => {
    let current = 'old one';
    return {
      password({ password, newPassword }) {
        if (password !== current) return false;
        if (newPassword !== undefined) current = newPassword;
        return newPassword === undefined && current === 'old one' ? { changePassword: 'It has expired' } : true;
      },
    };
  });

  it('is changed, and the new one lets in', options, async () => {
    const { server } = clients;
    const answers = { 'old password': 'old one', 'new password': 'new one', password: 'old one' };
    const ended = await login(server, { answers });
    assert.match(ended.stderr, /It has expired/);
    isIn(ended);
    isOut(await login(server, { answers: { password: 'old one' } }), 'password');
    isIn(await login(server, { answers: { password: 'new one' } }));
  });
});

describe('several methods with OpenSSH', () => {
  const one = () => api.authorizedKeys({ ada: known(['ed25519']) });
  const lock = use(() => ({
    async publickey(attempt) {
      return (await one()(attempt)) !== false && { partial: ['password'] };
    },
    password: ({ steps, password }) => steps.some(({ method }) => method === 'publickey') && password === PASSWORD,
  }));

  it('takes a key and then the password', lock.options, async () => {
    const { server } = lock.clients;
    const keys = [server.keys.ed25519.openssh];
    const both = [`${USES}publickey,password`, 'PubkeyAuthentication=yes', 'LogLevel=VERBOSE'];
    const ended = await login(server, { keys, options: both, answers: { password: PASSWORD } });
    isIn(ended);
    assert.match(ended.stderr, /using "publickey" with partial success/);
    const steps = server.connections.at(-1)?.login?.steps.map(({ method }) => method);
    assert.deepEqual(steps, ['publickey', 'password']);
  });

  it('takes neither alone, nor the password first', lock.options, async () => {
    const { server } = lock.clients;
    const keys = [server.keys.ed25519.openssh];
    const answers = { password: PASSWORD };
    isOut(await login(server, { keys, options: publickey }), 'password');
    isOut(await login(server, { answers }), 'publickey,password');
    const wrongKey = [await stranger(server)];
    const both = [`${USES}publickey,password`, 'PubkeyAuthentication=yes'];
    isOut(await login(server, { keys: wrongKey, options: both, answers }), 'publickey,password');
    isOut(await login(server, { keys, options: both, answers: { password: 'wrong' } }), 'password');
  });

  const keyring = use(() => {
    const both = api.authorizedKeys({ ada: known(['ed25519', 'ecdsa256']) });
    return {
      async publickey(attempt) {
        const found = await both(attempt);
        return found !== false && attempt.steps.length === 0 ? { partial: ['publickey'] } : found;
      },
    };
  });

  it('takes two keys', keyring.options, async () => {
    const { server } = keyring.clients;
    const { ed25519, ecdsa256, rsa } = server.keys;
    isIn(await login(server, { keys: [ed25519.openssh, ecdsa256.openssh], options: publickey }));
    const steps = server.connections.at(-1)?.login?.steps.map(({ key }) => key?.publicKey.type);
    assert.deepEqual(steps, ['ssh-ed25519', 'ecdsa-sha2-nistp256']);
    isOut(await login(server, { keys: [ed25519.openssh, rsa.openssh], options: publickey }), 'publickey');
    isOut(await login(server, { keys: [ed25519.openssh], options: publickey }), 'publickey');
  });

  const code = use(() => ({
    async publickey(attempt) {
      return (await one()(attempt)) !== false && { partial: ['keyboard-interactive'] };
    },
    async keyboardInteractive({ steps }, ask) {
      const [answer] = await ask({ prompts: [{ text: 'Verification code: ', echo: false }] });
      return steps.length === 1 && answer === '123456';
    },
  }));

  it('takes a key and then a code', code.options, async () => {
    const { server } = code.clients;
    const keys = [server.keys.ed25519.openssh];
    const both = [
      `${USES}publickey,keyboard-interactive`,
      'PubkeyAuthentication=yes',
      'KbdInteractiveAuthentication=yes',
    ];
    isIn(await login(server, { keys, options: both, answers: { Verification: '123456' } }));
    isOut(await login(server, { keys, options: both, answers: { Verification: '0' } }), 'keyboard-interactive');
  });
});

describe('a server that is open, or binds its users', () => {
  const open = use(() => ({ none: ({ username }) => username === 'guest', publickey: mayLogIn }));

  it('lets OpenSSH in without any proof', open.options, async () => {
    isIn(await login(open.clients.server, { username: 'guest' }));
    isOut(await login(open.clients.server, { username: 'ada' }), 'publickey');
  });

  const bound = use(() => ({
    publickey: api.authorizedKeys({
      ada: `command="echo bound to $PURESSH",no-pty,no-port-forwarding,environment="PURESSH=x" ${known(['ed25519'])}`,
    }),
  }));

  it('runs the command of the key, whatever the client asks for', bound.options, async () => {
    const { server } = bound.clients;
    const how = { keys: [server.keys.ed25519.openssh], options: publickey };
    const ended = await login(server, how, 'cat /etc/passwd');
    assert.deepEqual([ended.code, ended.stdout.toString()], [0, 'bound to x\n'], ended.stderr);
    const target = ['-W', '127.0.0.1:22', ...sshOptions(server), '-p', String(server.port), '-l', 'ada', server.host];
    assert.match((await run(['ssh', ...target])).stderr, /administratively prohibited/);
    const forced = await login(server, { ...how, options: [...publickey, 'RequestTTY=force'] });
    assert.match(forced.stderr, /PTY allocation request failed/);
  });
});
