import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HostConfig } from '../../src/config/host_config.ts';
import { type ConfigFile, parseConfig, parseConfigOptions } from '../../src/config/parse.ts';
import { type ConfigQuery, resolveConfig } from '../../src/config/resolve.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError } from '../../src/errors.ts';
import { seededRandom } from '../support/random.ts';

const query: ConfigQuery = {
  host: 'box',
  localUser: 'ada',
  userId: 1000,
  home: '/home/ada',
  localHost: 'desk.example.org',
  env: { KEYS: '/srv/keys', SOCK: '/run/agent' },
  crypto: pureProvider,
};

async function resolve(text: string | readonly ConfigFile[], more: Partial<ConfigQuery> = {}): Promise<HostConfig> {
  const files = typeof text === 'string' ? [parseConfig(text, '/c')] : text;
  return await resolveConfig(files, { ...query, ...more });
}

describe('resolveConfig', () => {
  it('has OpenSSH’s defaults where no file says anything', async () => {
    assert.deepEqual(await resolve(''), {
      originalHost: 'box',
      host: 'box',
      port: 22,
      user: 'ada',
      userGiven: false,
      certificateFiles: [],
      identitiesOnly: false,
      proxyJump: [],
      strictHostKeyChecking: 'ask',
      hashKnownHosts: false,
      algorithms: {},
      serverAliveInterval: 0,
      serverAliveCountMax: 3,
      compression: false,
      forwardAgent: false,
      batchMode: false,
      authMethods: ['publickey', 'keyboard-interactive', 'password'],
      authOrderGiven: false,
      ignored: [],
      sources: new Map(),
    } satisfies HostConfig);
  });

  it('takes the first value of each keyword, and all identities', async () => {
    const config = await resolve('Host box\nPort 1\nIdentityFile ~/a\nHost *\nPort 2\nIdentityFile /b\nUser eve');
    assert.deepEqual([config.port, config.user, config.identityFiles], [1, 'eve', ['/home/ada/a', '/b']]);
    assert.deepEqual(config.sources.get('port'), { keyword: 'port', source: '/c', line: 2 });
    assert.equal(config.userGiven, true);
  });

  it('takes options before a user that was given, and that before files', async () => {
    const file = parseConfig('User file', '/c');
    assert.equal((await resolve([file], { user: 'given' })).user, 'given');
    assert.equal((await resolve([file, parseConfigOptions(['User=option'])], { user: 'given' })).user, 'option');
  });

  it('expands what stands for something else, once', async () => {
    const tokens = '%% %d %h %i %j %k %L %l %n %p %r %u';
    const text = `HostName %h.example\nHostKeyAlias al\nProxyJump %n.gate\nUserKnownHostsFile ${tokens} \${KEYS}/%%h ~`;
    const { userKnownHostsFiles, proxyJump } = await resolve(text, { host: 'Box', user: 'eve' });
    const expected =
      '% /home/ada box.example 1000 %n.gate al desk desk.example.org Box 22 eve ada /srv/keys/%h /home/ada';
    assert.equal(userKnownHostsFiles?.join(' '), expected);
    assert.deepEqual(proxyJump, [{ host: 'Box.gate' }]);
  });

  it('computes %C as OpenSSH does', async () => {
    const { userKnownHostsFiles } = await resolve('UserKnownHostsFile %C');
    // printf 'desk.example.orgbox22ada' | sha1sum
    assert.deepEqual(userKnownHostsFiles, ['2d46ed68963b272f133ba51ec7d54c940e6d51e5']);
  });

  it('has addresses of an agent from the environment', async () => {
    assert.equal((await resolve('IdentityAgent $SOCK')).identityAgent, '/run/agent');
    assert.equal((await resolve('IdentityAgent $NOPE')).identityAgent, 'none');
    assert.equal((await resolve('IdentityAgent none')).identityAgent, 'none');
    assert.equal((await resolve('IdentityAgent SSH_AUTH_SOCK')).identityAgent, undefined);
    assert.equal((await resolve('ForwardAgent $SOCK')).forwardAgent, '/run/agent');
    await assert.rejects(resolve('\nForwardAgent $NOPE'), { code: 'bad-config', message: /^\/c:2: / });
  });

  it('has the ways to log in that are left, in their order', async () => {
    const text = 'PreferredAuthentications password,hostbased,publickey\nPubkeyAuthentication no';
    const { authMethods, authOrderGiven } = await resolve(text);
    assert.deepEqual([authMethods, authOrderGiven], [['password'], true]);
    assert.deepEqual((await resolve('PasswordAuthentication no')).authMethods, ['publickey', 'keyboard-interactive']);
  });

  it('runs Match exec only where it may, with tokens in place', async () => {
    const text = 'Port 7\nMatch exec "knock %h %p %n"\nUser eve';
    const asked: string[] = [];
    const { user } = await resolve(text, { matchExec: (command) => asked.push(command) > 0 });
    assert.deepEqual([user, asked], ['eve', ['knock box 7 box']]);
    await assert.rejects(resolve(text), { code: 'bad-config', message: /^\/c:2: Match exec would run a command/ });
    assert.equal((await resolve('Match host other exec "knock"\nUser eve')).user, 'ada');
  });

  it('lists what it does not act on', async () => {
    const { ignored } = await resolve('SendEnv A\nHost other\nControlMaster auto\nHost box\nLocalForward 1 b:2');
    assert.deepEqual(
      ignored.map(({ keyword, line }) => [keyword, line]),
      [
        ['sendenv', 1],
        ['localforward', 5],
      ],
    );
  });

  it('has tags', async () => {
    assert.equal((await resolve('Tag work\nMatch tagged w*\nPort 7')).port, 7);
    assert.equal((await resolve('Match tagged work\nPort 7')).port, 22);
  });

  const refused = [
    'ProxyCommand nc %h %p',
    'KnownHostsCommand /bin/x',
    'PKCS11Provider /lib/x.so',
    'BindAddress 10.0.0.1',
    'BindInterface eth0',
    'CanonicalizeHostname yes',
    'RefuseConnection "not today"',
  ];
  for (const line of refused) {
    it(`refuses ${line}, and says what to write`, async () => {
      const keyword = line.split(' ', 1)[0]?.toLowerCase();
      const message = new RegExp(`^/c:2: puressh does not do what ${keyword} asks for: .{20}`);
      await assert.rejects(resolve(`\n${line}`), { code: 'not-supported', message });
      await resolve(`Host other\n${line}`);
    });
  }

  it('passes over the same with values that change nothing', async () => {
    await resolve('ProxyCommand none\nKnownHostsCommand none\nPKCS11Provider none\nCanonicalizeHostname no');
    await resolve('CanonicalizeHostname no\nCanonicalizeHostname yes');
    await resolve('ProxyJump gate\nProxyCommand nc %h %p');
  });

  it('says in which file and line a mistake is', async () => {
    const rows: readonly [string, RegExp][] = [
      ['\nPort no', /^\/c:2: port takes a number from 1 to 65535, not 'no'$/],
      ['Prot 22', /^\/c:1: prot is no keyword of ssh_config: /],
      ['Match nope x', /^\/c:1: Match nope is no condition that puressh knows/],
      ['IdentityFile ~eve/key', /^\/c:1: ~eve\/key: homes of other users are not looked up/],
      ['IdentityFile %z', /^\/c:1: %z in '%z' stands for nothing here$/],
      ['Include x', /^\/c:1: Include needs files to be read/],
    ];
    for (const [text, message] of rows) await assert.rejects(resolve(text), { code: 'bad-config', message });
  });

  it('takes any text, or says what is wrong with it, in little time', async () => {
    const random = seededRandom('any text');
    const words = [
      'Host',
      'Match',
      'Include',
      'Port',
      'IdentityFile',
      'ProxyJump',
      'final',
      'exec',
      'all',
      '=',
      '"',
      "'",
      '\\',
    ];
    const parts = [
      ...words,
      ' ',
      ' ',
      '\n',
      '\n',
      '#',
      '%h',
      '%',
      '${',
      '}',
      '*',
      '!',
      ',',
      'a',
      '1m',
      '~',
      '\t',
      '\r',
      '@',
      ':',
      '[',
    ];
    for (let round = 0; round < 500; round++) {
      const text = Array.from(random(40), (byte) => parts[byte % parts.length]).join('');
      await resolve(text, { matchExec: () => false }).catch((error: SshError) => {
        assert.ok(
          error instanceof SshError && ['bad-config', 'not-supported'].includes(error.code),
          `${text}: ${error}`,
        );
      });
    }
    const long = 16_000;
    for (const text of [
      '1'.repeat(long),
      `a${' '.repeat(long)}b`,
      'a,'.repeat(long / 2),
      '*a'.repeat(long / 2),
      '%%'.repeat(long / 2),
    ]) {
      for (const keyword of ['ConnectTimeout', 'Ciphers', 'Host', 'ProxyJump', 'HostName', 'IdentityFile']) {
        await resolve(`${keyword} ${text}!`).catch((error: SshError) => assert.equal(error.code, 'bad-config'));
      }
    }
  });
});
