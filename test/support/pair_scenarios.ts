/**
 * Whole sessions of our client and our server, in which both sides only ever react: for transcripts, and for tests that repeat
 * a session with one thing gone wrong. Every name of an algorithm is set, so that new defaults change nothing here.
 */

import { concat } from '../../src/bytes/bytes.ts';
import { encodeFields } from '../../src/bytes/schema.ts';
import { utf8 } from '../../src/bytes/text.ts';
import { Writer } from '../../src/bytes/writer.ts';
import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { LoginVerdict } from '../../src/core/events.ts';
import { channelOpen, channelRequest, forwardedPort, globalRequest } from '../../src/wire/requests.ts';
import type { ClientConfig, ClientScript } from './core_client.ts';
import type { LoginQuestion, ServerConfig, ServerScript } from './core_server.ts';
import type { CoreSide } from './core_side.ts';
import { inTurn, on } from './in_turn.ts';
import { memoCrypto } from './memo_crypto.ts';
import { Pair, type PairOptions, type Side } from './pair.ts';
import { patterned } from './scripted_sftp.ts';
import { testSigner } from './test_keys.ts';

/** One session. */
export interface Scenario {
  readonly name: string;
  /** What happens in it. */
  readonly about: string;
  readonly kex: string;
  readonly hostKey: string;
  readonly cipher: string;
  /** Only with ciphers that need one. */
  readonly mac?: string;
  /** Algorithms of the keys that the user signs with. */
  readonly userKeys?: readonly string[];
  /** Who starts a key exchange once all is quiet, one time after the other. */
  readonly rekeys?: readonly (readonly Side[])[];
  /** What only one side is told; made anew for every run. */
  client(): { readonly script: ClientScript; readonly config?: Partial<ClientConfig> };
  server(): { readonly script: ServerScript; readonly config?: Partial<ServerConfig> };
}

const nothing = new Uint8Array(0);

const password = (text: string) => ({ method: 'password', password: text }) as const;
const keyboard = { method: 'keyboard-interactive' } as const;
const publickey = (algorithm: string) => ({ method: 'publickey', signer: testSigner(algorithm, 'user') }) as const;

/** Who may log in, by what the client shows. */
function login(right: (question: LoginQuestion) => LoginVerdict | undefined): Pick<ServerScript, 'onLogin'> {
  return { onLogin: (question) => right(question) ?? { verdict: 'refuse' } };
}

const ACCEPT: LoginVerdict = { verdict: 'accept' };

const startExec = (side: CoreSide, channel: number, command: string): void => {
  side.connection.requestChannel(channel, 'exec', encodeFields(channelRequest.exec, { command: utf8(command) }), true);
};

const exitStatus = (status: number): Uint8Array => encodeFields(channelRequest['exit-status'], { status });

/** Once its channel is closed a client waits for what is still on the way, and disconnects. */
const leaves = [
  on('channel-closed', ({ connection }) => connection.requestGlobal('keepalive@openssh.com', nothing, true)),
  on('global-reply', ({ connection }) => connection.disconnect('done')),
];

/** Runs one command that reads `input`. */
const runs = (command: string, input: Uint8Array): NonNullable<ClientScript['onEvent']> =>
  inTurn([
    on('authenticated', ({ connection }) => connection.openChannel('session', nothing)),
    on('channel-opened', (side, { channel }) => startExec(side, channel, command)),
    on('channel-reply', ({ connection }, { channel }) => {
      connection.write(channel, [input]);
      connection.endChannel(channel);
    }),
    ...leaves,
  ]);

/** Grants the command, says its input back with something to stderr, and ends it with a status. */
const answers = (status: number): NonNullable<ServerScript['onEvent']> =>
  inTurn([
    on('channel-request', ({ connection }, { channel }) => connection.replyChannelRequest(channel, true)),
    on('channel-eof', ({ connection, channels }, { channel }) => {
      connection.write(channel, [concat(...(channels.get(channel)?.data ?? []))]);
      connection.write(channel, [utf8('that was all\n')], 1);
      connection.finishChannel(channel, 'exit-status', exitStatus(status));
    }),
  ]);

const command: Scenario = {
  name: 'curve25519_chacha20_publickey',
  about:
    'login with an Ed25519 key after none is refused, with a banner; a command with input, stderr and an exit status',
  kex: 'curve25519-sha256',
  hostKey: 'ssh-ed25519',
  cipher: 'chacha20-poly1305@openssh.com',
  userKeys: ['ssh-ed25519'],
  client: () => ({
    script: {
      attempts: [{ method: 'none' }, publickey('ssh-ed25519')],
      onEvent: runs('cat; echo that was all >&2; exit 3', utf8('one\ntwo\n')),
    },
  }),
  server: () => ({
    config: { banner: 'Welcome.\r\n' },
    script: {
      ...login(({ attempt }) => (attempt.method === 'publickey' ? ACCEPT : undefined)),
      onEvent: answers(3),
    },
  }),
};

/** What is the default of both sides. */
const hybrid: Scenario = {
  name: 'mlkem768_chacha20_publickey',
  about: 'a hybrid key exchange; login with an Ed25519 key; a command',
  kex: 'mlkem768x25519-sha256',
  hostKey: 'ssh-ed25519',
  cipher: 'chacha20-poly1305@openssh.com',
  userKeys: ['ssh-ed25519'],
  client: () => ({ script: { attempts: [publickey('ssh-ed25519')], onEvent: runs('cat', utf8('one\n')) } }),
  server: () => ({ script: { ...login(() => ACCEPT), onEvent: answers(0) } }),
};

const shell: Scenario = {
  name: 'nistp256_aes128gcm_password',
  about: 'a wrong password, then the right one; a terminal with a variable, a new size and a signal that ends it',
  kex: 'ecdh-sha2-nistp256',
  hostKey: 'ecdsa-sha2-nistp256',
  cipher: 'aes128-gcm@openssh.com',
  client: () => ({
    script: {
      attempts: [password('guess'), password('hunter2')],
      onEvent: inTurn([
        on('authenticated', ({ connection }) => connection.openChannel('session', nothing)),
        on('channel-opened', ({ connection }, { channel }) => {
          const size = { columns: 80, rows: 24, widthPixels: 0, heightPixels: 0 };
          // VERASE, ECHO, and the speeds: RFC 4254 §8
          const modes = new Writer().u8(3).u32(127).u8(53).u32(1).u8(128).u32(38400).u8(129).u32(38400).u8(0).finish();
          const pty = encodeFields(channelRequest['pty-req'], { term: 'xterm-256color', ...size, modes });
          connection.requestChannel(channel, 'pty-req', pty, true);
          const env = encodeFields(channelRequest.env, { name: 'LANG', value: 'C.UTF-8' });
          connection.requestChannel(channel, 'env', env, false);
          connection.requestChannel(channel, 'shell', nothing, true);
        }),
        on('channel-data', ({ connection }, { channel }) => {
          const size = { columns: 132, rows: 50, widthPixels: 1320, heightPixels: 1000 };
          connection.requestChannel(
            channel,
            'window-change',
            encodeFields(channelRequest['window-change'], size),
            false,
          );
          connection.write(channel, [utf8('sleep 100\r')]);
          const signal = encodeFields(channelRequest.signal, { signal: 'INT' });
          connection.requestChannel(channel, 'signal', signal, false);
        }),
        ...leaves,
      ]),
    },
  }),
  server: () => ({
    script: {
      ...login(({ attempt }) => (attempt.method === 'password' && attempt.password === 'hunter2' ? ACCEPT : undefined)),
      onEvent(event, { connection }) {
        if (event.type !== 'channel-request') return false;
        if (event.wantReply) connection.replyChannelRequest(event.channel, true);
        if (event.request === 'shell') connection.write(event.channel, [utf8('$ ')]);
        if (event.request === 'signal') {
          const end = { signal: 'INT', coreDumped: false, message: 'interrupted', language: '' };
          connection.finishChannel(event.channel, 'exit-signal', encodeFields(channelRequest['exit-signal'], end));
        }
        return true;
      },
    },
  }),
};

const questions: Scenario = {
  name: 'nistp384_aes256gcm_keyboard',
  about: 'keyboard-interactive with two rounds of prompts and one without any; a command',
  kex: 'ecdh-sha2-nistp384',
  hostKey: 'ecdsa-sha2-nistp384',
  cipher: 'aes256-gcm@openssh.com',
  client: () => ({
    script: {
      attempts: [keyboard],
      onPrompts: (prompts) => prompts.map(({ text }) => (text === 'Password: ' ? 'correct horse' : '123456')),
      onEvent: runs('true', nothing),
    },
  }),
  server() {
    const rounds: LoginVerdict[] = [
      { verdict: 'prompt', title: 'Login', instruction: '', prompts: [{ text: 'Password: ', echo: false }] },
      {
        verdict: 'prompt',
        title: '',
        instruction: 'A code was sent.',
        prompts: [
          { text: 'Code: ', echo: true },
          { text: 'Again: ', echo: true },
        ],
      },
      { verdict: 'prompt', title: '', instruction: 'Thank you.', prompts: [] },
      ACCEPT,
    ];
    const next = (): LoginVerdict => rounds.shift() ?? { verdict: 'refuse' };
    return { script: { ...login(next), onResponses: next, onEvent: answers(0) } };
  },
};

const SMALL_WINDOW = { window: 2048, maxPacket: 1000 };

const twoSteps: Scenario = {
  name: 'nistp521_aes256ctr_two_steps',
  about:
    'an ECDSA key and then a password, which has expired and is changed; an RSA host key; encrypt-then-MAC; a command, through small windows',
  kex: 'ecdh-sha2-nistp521',
  hostKey: 'rsa-sha2-512',
  cipher: 'aes256-ctr',
  mac: 'hmac-sha2-512-etm@openssh.com',
  userKeys: ['ecdsa-sha2-nistp521'],
  client: () => ({
    config: SMALL_WINDOW,
    script: {
      attempts: [publickey('ecdsa-sha2-nistp521'), password('old')],
      onNewPassword: () => 'brand new',
      onEvent: runs('cat', patterned(3000)),
    },
  }),
  server: () => ({
    config: SMALL_WINDOW,
    script: {
      ...login(({ attempt, succeeded }) => {
        if (attempt.method === 'publickey') return { verdict: 'partial', methods: ['password'] };
        if (attempt.method !== 'password' || !succeeded.includes('publickey')) return undefined;
        return attempt.newPassword === undefined ? { verdict: 'change-password', prompt: 'New password: ' } : ACCEPT;
      }),
      onEvent: answers(0),
    },
  }),
};

const renewals: Scenario = {
  name: 'rekey_aes192ctr',
  about:
    'four key exchanges: the first, one that the client starts, one that the server starts, and one that both start at once, ' +
    'with data both ways under each set of keys',
  kex: 'curve25519-sha256@libssh.org',
  hostKey: 'rsa-sha2-256',
  cipher: 'aes192-ctr',
  mac: 'hmac-sha2-256-etm@openssh.com',
  userKeys: ['rsa-sha2-256'],
  rekeys: [['client'], ['server'], ['client', 'server']],
  client: () => ({
    script: {
      attempts: [publickey('rsa-sha2-256')],
      onEvent: inTurn([
        on('authenticated', ({ connection }) => connection.openChannel('session', nothing)),
        on('channel-opened', ({ connection }) => connection.write(0, [utf8('one')])),
        on('keys', ({ connection }) => connection.write(0, [utf8('two')])),
        on('keys', ({ connection }) => connection.write(0, [utf8('three')])),
        on('keys', ({ connection }) => {
          connection.write(0, [utf8('four')]);
          connection.endChannel(0);
        }),
        ...leaves,
      ]),
    },
  }),
  server: () => ({
    script: {
      ...login(({ attempt }) => (attempt.method === 'publickey' ? ACCEPT : undefined)),
      onEvent(event, { connection }) {
        if (event.type === 'channel-data') {
          connection.write(event.channel, [utf8('what the client said is '), event.data.slice()]);
        }
        if (event.type === 'channel-eof') {
          connection.endChannel(event.channel);
          connection.closeChannel(event.channel);
        }
        return false;
      },
    },
  }),
};

const BOUND_PORT = 40022;

const forwarding: Scenario = {
  name: 'forwarding_aes128ctr',
  about:
    'login without proof; a connection through the server and one back to the client (RFC 4254 §7), with both ports ' +
    'and their refusals, and keepalive requests of both sides; encrypt-and-MAC',
  kex: 'curve25519-sha256',
  hostKey: 'ssh-ed25519',
  cipher: 'aes128-ctr',
  mac: 'hmac-sha2-256',
  client: () => ({
    script: {
      attempts: [{ method: 'none' }],
      onEvent(event, side) {
        const { connection } = side;
        const direct = (host: string): number => {
          const target = { host, port: 80, originHost: '127.0.0.1', originPort: 50123 };
          return connection.openChannel('direct-tcpip', encodeFields(channelOpen['direct-tcpip'], target));
        };
        switch (event.type) {
          case 'authenticated':
            direct('forbidden.example');
            connection.requestGlobal('keepalive@openssh.com', nothing, true);
            return true;
          case 'channel-refused':
            direct('web.example');
            return true;
          case 'channel-opened':
            connection.write(event.channel, [utf8('GET / HTTP/1.0\r\n\r\n')]);
            return true;
          case 'channel-eof':
            connection.endChannel(event.channel);
            connection.closeChannel(event.channel);
            return true;
          case 'channel-closed':
            if (side.of('channel-closed').length === 1) {
              const bind = encodeFields(globalRequest['tcpip-forward'], { host: 'localhost', port: 0 });
              connection.requestGlobal('tcpip-forward', bind, true);
            } else {
              const bind = encodeFields(globalRequest['cancel-tcpip-forward'], { host: 'localhost', port: BOUND_PORT });
              connection.requestGlobal('cancel-tcpip-forward', bind, true);
            }
            return true;
          case 'channel-open-request':
            if (event.kind === 'forwarded-tcpip') connection.acceptChannel(event.channel);
            else connection.refuseChannel(event.channel, 3, 'unknown channel type');
            return true;
          case 'global-reply':
            // after the keepalive and the port that was bound comes the answer to the cancelling
            if (event.ok && event.body.length === 0) connection.disconnect('done');
            return true;
          default:
            return false;
        }
      },
    },
  }),
  server: () => ({
    script: {
      onEvent(event, { connection }) {
        switch (event.type) {
          case 'channel-open-request':
            if (new TextDecoder().decode(event.body).includes('web.example')) connection.acceptChannel(event.channel);
            else connection.refuseChannel(event.channel, 1, 'not permitted');
            return true;
          case 'channel-data':
            connection.write(event.channel, [utf8('HTTP/1.0 204 No Content\r\n\r\n')]);
            connection.endChannel(event.channel);
            return true;
          case 'channel-opened':
            connection.write(event.channel, [utf8('hello from outside\n')]);
            connection.endChannel(event.channel);
            return true;
          case 'global-request': {
            const binds = event.request === 'tcpip-forward';
            const ok = binds || event.request === 'cancel-tcpip-forward';
            connection.replyGlobalRequest(ok, binds ? encodeFields(forwardedPort, { port: BOUND_PORT }) : nothing);
            if (!binds) return true;
            connection.openChannel('x11', nothing);
            connection.requestGlobal('keepalive@openssh.com', nothing, true);
            return true;
          }
          case 'channel-refused': {
            const from = { host: 'localhost', port: BOUND_PORT, originHost: '192.0.2.7', originPort: 51000 };
            connection.openChannel('forwarded-tcpip', encodeFields(channelOpen['forwarded-tcpip'], from));
            return true;
          }
          default:
            return false;
        }
      },
    },
  }),
};

/** Every form of login, key exchange and packet is in one of them. */
export const scenarios: readonly Scenario[] = [command, hybrid, shell, questions, twoSteps, renewals, forwarding];

/** What a pair is to be told to play a scenario. */
export function optionsOf(scenario: Scenario): PairOptions {
  const { kex, hostKey, cipher, mac = 'hmac-sha2-256' } = scenario;
  const algorithms = chooseAlgorithms(memoCrypto, {
    kex: [kex],
    hostKeys: [hostKey],
    ciphers: [cipher],
    macs: [mac],
  });
  const client = scenario.client();
  const server = scenario.server();
  const signatures = scenario.userKeys ?? ['ssh-ed25519'];
  return {
    client: { algorithms, software: 'client_1.0', ...client.config },
    clientScript: client.script,
    server: {
      algorithms,
      software: 'server_1.0',
      hostKeys: [testSigner(hostKey, 'host')],
      signatures,
      ...server.config,
    },
    serverScript: server.script,
  };
}

/** Plays a scenario to its end; `rekeyed` is told before each command of the application. */
export function play(
  scenario: Scenario,
  options: PairOptions = {},
  rekeyed: (side: Side, pair: Pair) => void = () => {},
): Pair {
  const own = optionsOf(scenario);
  const pair = new Pair({
    ...own,
    ...options,
    client: { ...own.client, ...options.client },
    server: { ...own.server, ...options.server },
  });
  pair.pump();
  for (const who of scenario.rekeys ?? []) {
    for (const side of who) {
      rekeyed(side, pair);
      pair.side(side).connection.rekey();
    }
    pair.pump();
  }
  return pair;
}
