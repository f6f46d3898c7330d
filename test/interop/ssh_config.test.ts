/** The same ssh_config files for `ssh -G`, which prints what it makes of them, and for our reading of them. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { HostConfig } from '../../src/config/host_config.ts';
import { parseConfigOptions } from '../../src/config/parse.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { pureProvider } from '../../src/crypto/pure/index.ts';
import { SshError } from '../../src/errors.ts';
import { configFiles } from '../../src/transports/config_files.ts';
import { nodeConfigSystem } from '../../src/transports/node_config.ts';
import { findProgram, peerTest } from '../support/peers/peer.ts';
import { seededRandom } from '../support/random.ts';
import { isThorough } from '../support/thorough.ts';

const missing = findProgram('ssh') === undefined ? 'there is no ssh' : undefined;
const available = isThorough && missing === undefined;
const options = isThorough ? peerTest(missing) : { skip: 'is done in Node 24 only' };

const user = userInfo();
const env = { HOME: user.homedir, PATH: process.env.PATH, KEYS: '/srv/keys', EMPTY: '' };

/** Lines of `ssh -G` by keyword; `undefined` where it refuses the file. */
function sshSays(args: readonly string[]): ReadonlyMap<string, readonly string[]> | undefined {
  const { status, stdout } = spawnSync('ssh', ['-G', ...args], { env, encoding: 'utf8' });
  if (status !== 0) return undefined;
  const found = new Map<string, string[]>();
  for (const line of stdout.split('\n')) {
    const [keyword, ...rest] = line.split(' ') as [string];
    found.set(keyword.toLowerCase(), [...(found.get(keyword.toLowerCase()) ?? []), rest.join(' ')]);
  }
  return found;
}

type Printed = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What OpenSSH has where no file says anything. */
const defaults: ReadonlyMap<string, readonly string[]> = (available && sshSays(['-F', 'none', 'host'])) || new Map();

const yesNo = (flag: boolean): string => (flag ? 'yes' : 'no');
const trueFalse = (flag: boolean): string => (flag ? 'true' : 'false');

/** A list as OpenSSH prints it: in place of the default, or made of it. */
function assembled(keyword: string, text: string | undefined): string {
  const [standardText = ''] = defaults.get(keyword) ?? [];
  const standard = standardText.split(',');
  if (text === undefined) return standard.join(',');
  const names = text.replace(/^[-+^]/, '').split(',');
  const regexps = names.map(
    (name) => new RegExp(`^${name.replace(/[.]/g, '\\.').replaceAll('*', '.*').replaceAll('?', '.')}$`),
  );
  const kept = standard.filter((name) => !regexps.some((each) => each.test(name)));
  if (text.startsWith('-')) return kept.join(',');
  if (text.startsWith('^')) return [...names, ...kept].join(',');
  return (text.startsWith('+') ? [...standard, ...names.filter((name) => !standard.includes(name))] : names).join(',');
}

/** Our configuration in the words of `ssh -G`. */
function printed(config: HostConfig, values: ReadonlyMap<string, readonly string[]>): Printed {
  const flag = (value: boolean | string): string => (typeof value === 'boolean' ? yesNo(value) : value);
  const { algorithms, proxyJump, updateHostKeys } = config;
  const hops = proxyJump.map(({ user: name, host, port }, index) => {
    const bracketed = index === proxyJump.length - 1 && /^[\d.]+$|:/.test(host) ? `[${host}]` : host;
    return `${name === undefined ? '' : `${name}@`}${bracketed}${port === undefined ? '' : `:${port}`}`;
  });
  return {
    host: config.originalHost,
    hostname: config.host,
    port: String(config.port),
    user: config.user,
    identityfile: config.identityFiles ?? values.get('identityfile')?.map(home),
    certificatefile: config.certificateFiles.length > 0 ? config.certificateFiles : undefined,
    identitiesonly: yesNo(config.identitiesOnly),
    identityagent: config.identityAgent,
    proxyjump: hops.length > 0 ? hops.join(',') : undefined,
    userknownhostsfile: (
      config.userKnownHostsFiles ?? [`${user.homedir}/.ssh/known_hosts`, `${user.homedir}/.ssh/known_hosts2`]
    ).join(' '),
    globalknownhostsfile: (
      config.globalKnownHostsFiles ?? ['/etc/ssh/ssh_known_hosts', '/etc/ssh/ssh_known_hosts2']
    ).join(' '),
    stricthostkeychecking: { yes: 'true', no: 'false', ask: 'ask', 'accept-new': 'accept-new' }[
      config.strictHostKeyChecking
    ],
    updatehostkeys:
      updateHostKeys === undefined ? undefined : updateHostKeys === 'ask' ? 'ask' : trueFalse(updateHostKeys),
    revokedhostkeys: config.revokedHostKeys,
    hashknownhosts: yesNo(config.hashKnownHosts),
    hostkeyalias: config.hostKeyAlias,
    requiredrsasize: String(config.requiredRsaSize ?? 1024),
    kexalgorithms: assembled('kexalgorithms', algorithms.kex),
    hostkeyalgorithms: assembled('hostkeyalgorithms', algorithms.hostKeys),
    ciphers: assembled('ciphers', algorithms.ciphers),
    macs: assembled('macs', algorithms.macs),
    pubkeyacceptedalgorithms: assembled('pubkeyacceptedalgorithms', algorithms.signatures),
    connecttimeout: config.connectTimeout === undefined ? 'none' : String(config.connectTimeout / 1000),
    serveraliveinterval: String(config.serverAliveInterval / 1000),
    serveralivecountmax: String(config.serverAliveCountMax),
    compression: yesNo(config.compression),
    forwardagent: flag(config.forwardAgent),
    batchmode: yesNo(config.batchMode),
  };
}

const home = (path: string): string => path.replace(/^~(?=\/)/, user.homedir);

/** What `ssh` says, in the same form. Where values are printed as they are written, `~` is replaced here. */
function expected(values: ReadonlyMap<string, readonly string[]>, keywords: readonly string[]): Printed {
  const lists = ['identityfile', 'certificatefile'];
  const named = keywords.map((keyword): [string, string | readonly string[] | undefined] => {
    const found = values.get(keyword);
    if (lists.includes(keyword)) {
      const paths = found?.filter((path) => path !== 'none').map(home);
      return [keyword, keyword === 'certificatefile' && paths?.length === 0 ? undefined : paths];
    }
    const value = found?.[0];
    if (keyword.endsWith('knownhostsfile'))
      return [
        keyword,
        value
          ?.split(' ')
          .filter((each) => each !== 'none')
          .map(home)
          .join(' '),
      ];
    if (value === 'SSH_AUTH_SOCK') return [keyword, undefined];
    if (keyword === 'updatehostkeys' || value === undefined) return [keyword, value];
    return [keyword, keyword === 'revokedhostkeys' ? home(value) : value];
  });
  return Object.fromEntries(named);
}

/** Each way to say a list, for each list. Names that OpenSSH does not know it refuses, and puressh leaves out. */
const LISTS = {
  KexAlgorithms: ['+diffie-hellman-group1-sha1', '-curve25519*,ecdh-*', '^ecdh-sha2-nistp521', 'ecdh-sha2-nistp256'],
  HostKeyAlgorithms: ['+ssh-rsa', '-*-cert-*,ecdsa*', '^rsa-sha2-256', 'ssh-ed25519,rsa-sha2-512'],
  Ciphers: ['+aes128-cbc,3des-cbc', '-*gcm*', '^aes256-ctr,aes128-ctr', 'aes192-ctr'],
  MACs: ['+hmac-md5', '-*-etm@openssh.com,umac*', '^hmac-sha2-512', 'hmac-sha2-256,hmac-sha1'],
};

describe('ssh_config', () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'puressh-config-'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  /** Compares what both make of a file for a host. */
  async function compare(text: string, host = 'box', options: readonly string[] = []): Promise<void> {
    const path = join(dir, 'config');
    writeFileSync(path, text.replaceAll('DIR', dir));
    const theirs = sshSays(['-F', path, ...options.flatMap((each) => ['-o', each]), host]);
    const ours = await read(path, host, options).catch((error: SshError) => error);
    const about = `${JSON.stringify(text)} for ${host}: ${ours instanceof Error ? ours.message : ''}`;
    if (ours instanceof Error) {
      assert.ok(ours instanceof SshError && ours.code === 'bad-config', about);
      assert.ok(theirs === undefined, `ssh takes ${about}`);
      return;
    }
    assert.ok(theirs !== undefined, `ssh refuses ${about}`);
    const shown = printed(ours, theirs);
    const expectation = expected(theirs, Object.keys(shown));
    // which default counts depends on other keywords
    assert.deepEqual(
      shown,
      ours.updateHostKeys === undefined ? { ...expectation, updatehostkeys: undefined } : expectation,
      about,
    );
  }

  async function read(path: string, host: string, options: readonly string[]): Promise<HostConfig> {
    const system = { ...nodeConfigSystem(), home: user.homedir };
    return await resolveConfig([parseConfigOptions(options), ...(await configFiles(system, path))], {
      host,
      localUser: user.username,
      userId: user.uid,
      home: user.homedir,
      localHost: hostname(),
      env,
      crypto: pureProvider,
      matchExec: (command) => spawnSync('/bin/sh', ['-c', command]).status === 0,
    });
  }

  for (const [name, rows] of Object.entries(written())) {
    it(`ssh and we agree: ${name}`, options, async () => {
      for (const [text, ...hosts] of rows)
        for (const host of hosts.length > 0 ? hosts : ['box']) await compare(text, host);
    });
  }

  it('ssh and we agree: options before the file', options, async () => {
    const file = 'Host box\nPort 1\nUser ada\nHostName a.example\nHost *\nPort 2\nIdentityFile /b';
    for (const options of [
      ['Port=7'],
      ['Port 7', 'port=8'],
      ['User = x y'],
      ['user="x y"'],
      ['HostName=%h.b'],
      ['IdentityFile=/a'],
    ]) {
      await compare(file, 'box', options);
    }
    for (const option of ['Host box', 'Match all', 'Include DIR/config', 'Nope=1', 'Port', 'Port=0'])
      await compare(file, 'box', [option]);
  });

  it('ssh and we agree: Include', options, async () => {
    mkdirSync(join(dir, 'inc'), { mode: 0o700 });
    const parts: Readonly<Record<string, string>> = {
      'a.conf': 'Port 1001\nUser a',
      'b.conf': 'Host box\nHostName b.example\nHost *\nUser b',
      'c.conf': 'Match user b\nPort 1003\nInclude DIR/inc/d.part',
      'd.part': 'IdentityFile /from/d',
      '.hidden.conf': 'Port 1009',
      'loop.part': 'Include DIR/inc/loop.part',
      'bad.part': 'Prot 22',
    };
    for (const [name, text] of Object.entries(parts)) {
      writeFileSync(join(dir, 'inc', name), text.replaceAll('DIR', dir), { mode: 0o600 });
    }
    for (const text of [
      'Include DIR/inc/a.conf\nPort 9',
      'Include DIR/inc/*.conf',
      'Include DIR/inc/[ab].conf DIR/inc/d.part',
      'Include DIR/inc/[!ab].conf',
      'Include DIR/inc/?.conf\nHost other\nPort 5',
      'Include "DIR/inc/b.conf"\nPort 9',
      'Include DIR/*/a.conf',
      'Include DIR/inc/none DIR/inc/none*',
      'Host other\nInclude DIR/inc/a.conf DIR/inc/b.conf',
      'Host other\nInclude DIR/inc/bad.part',
      'Host box\nInclude DIR/inc/b.conf\nPort 8\nHost other\nPort 9',
      'User b\nInclude DIR/inc/c.conf',
      'Include DIR/inc/loop.part',
      'Include DIR/inc/bad.part',
      'Include',
    ]) {
      await compare(text);
    }
  });

  it('ssh and we agree: files put together by chance', options, async () => {
    const random = seededRandom('ssh_config');
    const pick = <T>(list: readonly T[]): T => list[(random(1)[0] as number) % list.length] as T;
    for (let round = 0; round < 60; round++) {
      const lines = Array.from({ length: 3 + ((random(1)[0] as number) % 9) }, () =>
        pick(pick([heads, bodies, bodies])),
      );
      await compare(lines.join('\n'), pick(['box', 'BOX', 'web1', 'web1.example.org', '10.0.0.7', '::1', 'other']));
    }
  });

  it('ssh and we agree about what tokens stand for', options, async () => {
    const path = join(dir, 'config');
    const tokens = '%% %h %n %p %r %u %l %L %d %i %k %C'.split(' ').map((token) => `/t/${token}`);
    for (const more of ['', 'HostName %h.Example\nPort 77\nUser ada', 'HostKeyAlias alias']) {
      writeFileSync(path, `UserKnownHostsFile ${tokens.join(' ')} \${KEYS}/x ~/y\nControlPath /%C\n${more}\n`);
      const { userKnownHostsFiles: ours } = await read(path, 'Box', []);
      assert.equal(ours?.join(' '), sshSays(['-F', path, 'Box'])?.get('userknownhostsfile')?.[0], more);
    }
    const told = join(dir, 'told');
    writeFileSync(path, `Port 7\nHostName x.y\nMatch exec "echo '${tokens.join(' ')}' > ${told}"\nUser eve\n`);
    assert.equal((await read(path, 'box', [])).user, 'eve');
    const ours = readFileSync(told, 'utf8');
    assert.deepEqual(sshSays(['-F', path, 'box'])?.get('user'), ['eve']);
    assert.equal(ours, readFileSync(told, 'utf8'));
  });
});

/** Lines that choose hosts, and lines that say something, for files put together by chance. */
const heads = [
  'Host *',
  'Host box web?',
  'Host web* !web1',
  'Host !*.example.org *',
  'Host 10.0.0.* ::1',
  'Match all',
  'Match host *.example.org',
  'Match host web*,!web1.* originalhost web1*',
  'Match !host box user ada,eve',
  'Match user root',
  'Match !user "ada"',
  'Match localuser root',
  'Match final host *.example.org',
  'Match final all',
  'Match !final all',
  'Match canonical',
  'match originalhost=box',
  'Match originalhost BOX',
];

const bodies = [
  'HostName %h.example.org',
  'HostName WEB.example.org',
  'HostName 10.0.0.9',
  'Port 2222',
  'Port=2223',
  'User ada',
  'User "eve"',
  'IdentityFile ~/.ssh/one',
  'IdentityFile /two',
  'IdentityFile none',
  'CertificateFile /cert.pub',
  'IdentitiesOnly yes',
  'IdentityAgent none',
  'IdentityAgent ~/agent.sock',
  'ProxyJump a,ada@b:22',
  'ProxyJump none',
  'UserKnownHostsFile /k1 "/k 2"',
  'GlobalKnownHostsFile /g1 /g2',
  'StrictHostKeyChecking accept-new',
  'StrictHostKeyChecking no',
  'UpdateHostKeys no',
  'HashKnownHosts yes',
  'HostKeyAlias alias',
  'KexAlgorithms +diffie-hellman-group1-sha1',
  'HostKeyAlgorithms ^ssh-ed25519,rsa-sha2-512',
  'Ciphers -*cbc,aes128*',
  'MACs hmac-sha2-256,hmac-sha2-512',
  'PubkeyAcceptedAlgorithms +ssh-rsa',
  'ConnectTimeout 1m30s',
  'ServerAliveInterval 15',
  'ServerAliveCountMax 5',
  'Compression yes',
  'ForwardAgent yes',
  'SendEnv LANG',
  'LocalForward 8080 localhost:80',
];

/** Files that were written by hand, each with the hosts it is read for. */
function written(): Readonly<Record<string, readonly [string, ...string[]][]>> {
  return {
    'lines, quotes, equals signs and comments': [
      ['', 'box'],
      ['# only\n\n \t# comments\n', 'box'],
      ['Port 22\r\nUser ada\r\n', 'box'],
      ['  Port\t2022  \n\tUser = ada', 'box'],
      ['Port=1\nUser =x\nHostName= h', 'box'],
      ['Port "2022"\nUser "ada lovelace"', 'box'],
      ['User \'ada "l"\'', 'box'],
      ['User ada\\ l', 'box'],
      ['User "a\\"b\\\\c\\d"', 'box'],
      ['User ada # comment', 'box'],
      ['User ada#no', 'box'],
      ['User "ada', 'box'],
      ['User \'ada"', 'box'],
      ['"Port" 23', 'box'],
      ['Port == 23', 'box'],
      ['=Port 23', 'box'],
      ['Port', 'box'],
      ['Port ""', 'box'],
      ['Port # 22', 'box'],
      ['User ada\f', 'box'],
      ['pORT 23\nPORT 24', 'box'],
      ['User a b', 'box'],
      ['HostName a\nHostName b', 'box'],
      ['User ada\n\u00a0Port 22', 'box'],
    ],
    Host: [
      ['Host box\nPort 1\nHost *\nPort 2', 'box', 'BOX', 'boxes'],
      ['Host b?x !bax bax\nPort 1', 'box', 'bax'],
      ['Host !box\nPort 1\nHost !other *\nPort 2', 'box', 'other'],
      ['Host "box" \'web\'\nPort 1', 'box', 'web'],
      ['Host box,web\nPort 1', 'box', 'web'],
      ['Host=box\nPort 1', 'box'],
      ['Host box # web\nPort 1', 'web'],
      ['Host\nPort 1', 'box'],
      ['Host ""\nPort 1', 'box'],
      ['HostName real\nHost real\nPort 1', 'box', 'real'],
      ['Host 192.168.?.1*\nPort 3', '192.168.7.12', '192.168.77.1'],
    ],
    Match: [
      ['Match host box\nPort 1', 'box', 'BOX', 'web'],
      ['Match host BOX,web\nPort 1', 'box', 'web'],
      ['HostName real\nMatch host real\nPort 1\nMatch originalhost real\nPort 2', 'box', 'real'],
      ['HostName %h.ex\nMatch host *.ex\nPort 1', 'box'],
      ['Match user ada\nPort 1', 'box'],
      ['User ada\nMatch user ada\nPort 1\nMatch user ADA\nPort 2', 'box'],
      ['Match localuser root user root\nPort 1', 'box'],
      ['Match !localuser nobody\nPort 1', 'box'],
      ['Match all\nPort 1', 'box'],
      ['Match !all\nPort 1', 'box'],
      ['Match all host box\nPort 1', 'box'],
      ['Match host box all\nPort 1', 'box'],
      ['Match host box user root all\nPort 1', 'box'],
      ['Match final all\nPort 1', 'box'],
      ['Match final\nPort 1\nHost box\nPort 2', 'box'],
      ['Match final host real\nPort 1\nHost box\nHostName REAL', 'box'],
      ['HostName real\nHost real\nPort 1\nMatch final\nUser x', 'box'],
      ['Match canonical\nPort 1', 'box'],
      ['Match canonical\nPort 1\nMatch final\nUser x', 'box'],
      ['Match !canonical\nPort 1', 'box'],
      ['Match host\nPort 1', 'box'],
      ['Match host=box\nPort 1', 'box'],
      ['Match host "box" user="root"\nPort 1', 'box'],
      ['Match host box # user x\nPort 1', 'box'],
      ['Match\nPort 1', 'box'],
      ['Match # x\nPort 1', 'box'],
      ['Match nope x\nPort 1', 'box'],
      ['Match host "box\nPort 1', 'box'],
      ['Match exec true\nPort 1', 'box'],
      ['Match exec "false"\nPort 1', 'box'],
      ['Match !exec "test %n = %h"\nPort 1\nMatch exec "test %n = box"\nPort 2', 'box'],
      ['Match host web exec "touch DIR/run"\nPort 1\nMatch exec "test -e DIR/run"\nUser ran', 'box'],
      ['Match exec "echo %z"\nPort 1', 'box'],
      ['Match HOST box\nPort 1', 'box'],
    ],
    'values and the first of them': [
      ['Port 0', 'box'],
      ['Port 65536', 'box'],
      ['Host other\nPort no', 'box'],
      ['ConnectTimeout 1h2m3s\nServerAliveInterval 2m\nServerAliveCountMax 1', 'box'],
      ['ConnectTimeout none\nServerAliveInterval 0', 'box'],
      ['ConnectTimeout 10x', 'box'],
      ['ConnectTimeout 1w1D', 'box'],
      ['ServerAliveCountMax -1', 'box'],
      ['ServerAliveCountMax x', 'box'],
      ['StrictHostKeyChecking Yes', 'box'],
      ['StrictHostKeyChecking off\nUpdateHostKeys ask', 'box'],
      ['StrictHostKeyChecking maybe', 'box'],
      ['Compression YES\nHashKnownHosts TRUE', 'box'],
      ['Compression true', 'box'],
      ['BatchMode yes\nServerAliveInterval 5', 'box'],
      ['Compression 1', 'box'],
      ['IdentityFile /a\nIdentityFile /b\nIdentityFile /a\nCertificateFile /c\nCertificateFile /d', 'box'],
      ['IdentityFile none\nCertificateFile none', 'box'],
      ['IdentityFile /a\nMatch final\nIdentityFile /b\nIdentityFile /a', 'box'],
      ['UserKnownHostsFile /a /b\nUserKnownHostsFile /c', 'box'],
      ['UserKnownHostsFile none\nGlobalKnownHostsFile none', 'box'],
      [`UserKnownHostsFile ~/k_%n_%h $\{KEYS}/%r`, 'box'],
      [`UserKnownHostsFile $\{NOPE}/x`, 'box'],
      ['UserKnownHostsFile ${KEYS', 'box'],
      ['UserKnownHostsFile /%z', 'box'],
      ['UserKnownHostsFile /a%', 'box'],
      ['ForwardAgent /a/sock', 'box'],
      ['ForwardAgent no', 'box'],
      ['IdentityAgent SSH_AUTH_SOCK', 'box'],
      ['IdentityAgent ~/s_%r', 'box'],
      ['ProxyJump a', 'box'],
      ['ProxyJump ada@a:2222,b,eve@10.0.0.1:22', 'box'],
      ['ProxyJump ssh://ada@a:2222', 'box'],
      ['ProxyJump [::1]:22', 'box'],
      ['ProxyJump none\nProxyJump a', 'box'],
      ['ProxyJump @a', 'box'],
      ['ProxyJump a:0', 'box'],
      ['ProxyJump a:x', 'box'],
      ['ProxyJump a,', 'box'],
      ['ProxyCommand none\nProxyJump a', 'box'],
      ['RequiredRSASize 2048\nPubkeyAcceptedKeyTypes +ssh-rsa', 'box'],
      ['RevokedHostKeys ~/revoked', 'box'],
      ['HostName %%h', 'box'],
      ['HostName %n', 'box'],
      ['HostName A.B.C', 'box'],
      ['HostName FE80::1', 'box'],
    ],
    'lists that add, take away and put first': Object.entries(LISTS).flatMap(([keyword, lists]) =>
      lists.map((list, i): [string] => [`${keyword} ${list}\n${keyword} ${lists[3 - i]}`]),
    ),
    'keywords that are known, old or unknown': [
      ['GSSAPIAuthentication yes\nSendEnv A B\nControlMaster auto\nControlPath ~/c\nAddressFamily inet', 'box'],
      ['Protocol 2\nUseRoaming no\nRSAAuthentication yes\nUsePrivilegedPort no', 'box'],
      ['ChallengeResponseAuthentication no\nDSAAuthentication yes', 'box'],
      ['KnownHostsCommand none\nPKCS11Provider none\nCanonicalizeHostname no', 'box'],
      ['Nope 1', 'box'],
      ['Host other\nNope 1', 'box'],
      ['IgnoreUnknown Nope,Use*\nNope 1\nUseThis "a b"\nPort 5', 'box'],
      ['IgnoreUnknown nope\nNope 1\nOther 2', 'box'],
      ['Nope 1\nIgnoreUnknown nope', 'box'],
      ['IgnoreUnknown Nope\nNope "1', 'box'],
      ['Host other\nIgnoreUnknown nope\nHost *\nnope 1', 'box'],
    ],
  };
}
