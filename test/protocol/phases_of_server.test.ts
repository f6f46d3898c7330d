/**
 * Every message number in every phase, on the wire, to a server. The expectations are typed from the RFCs and not from
 * `core/phase.ts`: RFC 4253 §7.1 (what may come during key exchange), §11 (what may come at any time, what is unknown), RFC
 * 8308 §2.4, RFC 4252 §5 and §6, RFC 4254, OpenSSH PROTOCOL §1.8 (ping) and §1.9 (strict key exchange).
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Reader } from '../../src/bytes/reader.ts';
import { connection } from '../../src/wire/connection.ts';
import { decode, encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { keyboardAuth } from '../../src/wire/userauth.ts';
import { namesOf } from '../support/scripted_end.ts';
import { ServerLink } from '../support/server_link.ts';
import { everyMessage, expected, type Reaction, type Rules, shortName } from './every_message.ts';

const empty = new Uint8Array(0);

/** Ends with a breach of the protocol, and says so. */
const D: Reaction = 'sends DISCONNECT 2; tells closed; protocol';
/** Nothing happens. */
const I: Reaction = 'nothing';
/** RFC 4253 §11.4. */
const U: Reaction = 'sends UNIMPLEMENTED';
const ENDS: Reaction = 'tells closed; disconnected';
const DEBUG: Reaction = 'tells debug';
const PONG: Reaction = 'sends PONG';

/** 1–4 have one meaning everywhere but in strict key exchange. */
const always: Rules = { '0-255': U, 1: ENDS, 2: I, 3: I, 4: DEBUG };
/** What only a logged-in client may send, and what no client may ever send. */
const never: Rules = {
  '5-7': D,
  '20-21': D,
  '30-49': D,
  '50-53': D,
  '60-79': D,
  '80-82': D,
  '90-100': D,
  '192-193': D,
};

interface State {
  readonly name: string;
  readonly strict: boolean;
  /** Brings a fresh link there. */
  readonly reach: (link: ServerLink) => void;
  readonly rules: Rules;
}

const listening = (link: ServerLink): void => {
  link.client.identify();
  link.client.sendKexinit();
  link.client.takeKexinit();
};
const switching = (link: ServerLink): void => {
  listening(link);
  link.client.sendInit();
  link.client.takeReply();
};
const auth = (link: ServerLink): void => {
  link.client.handshake();
  link.client.requestService();
};
const prompting = (link: ServerLink): void => {
  auth(link);
  link.client.requestKeyboard();
  link.client.expect(keyboardAuth.infoRequest.number);
};
/** Channel 0 is open with a request that waits for its answer, channel 1 is being opened, a global request waits. */
const open = (link: ServerLink): void => {
  link.client.handshake();
  link.client.login();
  link.client.open('session', 5);
  link.client.expect(connection.channelOpenConfirmation.number);
  const { connection: server } = link.server;
  server.requestChannel(0, 'a', empty, true);
  server.requestGlobal('b', empty, true);
  server.openChannel('forwarded-tcpip', empty);
  link.client.until(connection.channelOpen.number);
};
const offered = (link: ServerLink): void => {
  open(link);
  link.server.connection.rekey();
  link.client.takeKexinit();
};
const rekeyListening = (link: ServerLink): void => {
  open(link);
  link.client.sendKexinit();
  link.client.takeKexinit();
};
const rekeySwitching = (link: ServerLink): void => {
  rekeyListening(link);
  link.client.sendInit();
  link.client.takeReply();
};
const earlyListening = (link: ServerLink): void => {
  auth(link);
  link.client.sendKexinit();
  link.client.takeKexinit();
};
const earlySwitching = (link: ServerLink): void => {
  earlyListening(link);
  link.client.sendInit();
  link.client.takeReply();
};

/** A message of another method than the one that runs: RFC 4253 §11.1, reason 3. */
const OTHER_METHOD: Reaction = 'sends DISCONNECT 3; tells closed; protocol';
const method: Rules = { '31-49': OTHER_METHOD, 30: 'sends ECDH_REPLY+NEWKEYS' };
const START_EXCHANGE = 'sends KEXINIT';

const openRules: Rules = {
  ...always,
  ...never,
  7: I, // too late to matter
  20: START_EXCHANGE,
  50: I, // RFC 4252 §5.3
  '60-79': I,
  80: 'tells global-request',
  81: 'tells global-reply',
  82: 'tells global-reply',
  90: 'sends CHANNEL_OPEN_CONFIRMATION; tells channel-open-request',
  91: 'tells channel-opened',
  92: 'tells channel-refused',
  93: I,
  94: 'tells channel-data',
  95: 'tells channel-data',
  96: 'tells channel-eof',
  97: 'sends CHANNEL_CLOSE; tells channel-closed',
  98: 'tells channel-request',
  99: 'tells channel-reply',
  100: 'tells channel-reply',
  192: PONG,
  193: I,
};

/** What a peer must not send between its KEXINIT and its NEWKEYS, and is forgiven; answers wait for our NEWKEYS. */
const forgiven: Rules = Object.fromEntries(
  Object.entries({ ...openRules, 90: 'tells channel-open-request', 97: 'tells channel-closed' }).filter(
    ([number]) => Number(number) >= 80 && Number(number) <= 100,
  ),
);
/** Our NEWKEYS is out, so answers leave at once. */
const answered: Rules = { 90: openRules[90] as Reaction, 97: openRules[97] as Reaction };

const strictOnly: Rules = { '0-255': D, 1: ENDS };
const laxExchange: Rules = { ...always, ...never };
/** Our NEWKEYS is out already. */
const keyed: Rules = { 21: 'tells keys' };

const authRules: Rules = {
  ...always,
  ...never,
  5: 'sends SERVICE_ACCEPT', // paramiko asks before each attempt
  7: I,
  20: START_EXCHANGE,
  50: 'sends USERAUTH_FAILURE; tells question',
  192: PONG,
  193: I,
};

const states: State[] = [
  {
    name: 'before KEXINIT',
    strict: false,
    reach: (link) => link.client.identify(),
    rules: { ...laxExchange, 20: I },
  },
  { name: 'method awaited', strict: false, reach: listening, rules: { ...laxExchange, ...method } },
  { name: 'method awaited', strict: true, reach: listening, rules: { ...strictOnly, ...method } },
  { name: 'NEWKEYS awaited', strict: false, reach: switching, rules: { ...laxExchange, ...keyed } },
  { name: 'NEWKEYS awaited', strict: true, reach: switching, rules: { ...strictOnly, ...keyed } },
  {
    name: 'service awaited',
    strict: true,
    reach: (link) => link.client.handshake(),
    rules: { ...authRules, 50: D },
  },
  { name: 'authentication', strict: true, reach: auth, rules: authRules },
  {
    name: 'a question is out',
    strict: true,
    reach: prompting,
    rules: { ...authRules, 61: 'sends USERAUTH_SUCCESS; tells question+authenticated' },
  },
  {
    name: 'method awaited again before login',
    strict: true,
    reach: earlyListening,
    rules: { ...laxExchange, ...method },
  },
  {
    name: 'NEWKEYS awaited again before login',
    strict: true,
    reach: earlySwitching,
    rules: { ...laxExchange, ...keyed },
  },
  { name: 'open', strict: true, reach: open, rules: openRules },
  {
    name: 'our KEXINIT is out',
    strict: true,
    reach: offered,
    // the same, but what is not key exchange waits
    rules: { ...openRules, 20: I, 90: 'tells channel-open-request', 97: 'tells channel-closed', 192: I },
  },
  {
    name: 'method awaited again',
    strict: true,
    reach: rekeyListening,
    rules: { ...laxExchange, ...forgiven, ...method },
  },
  {
    name: 'NEWKEYS awaited again',
    strict: true,
    reach: rekeySwitching,
    rules: { ...laxExchange, ...forgiven, ...answered, ...keyed },
  },
];

/** A server in this state, to which all has been said that has to be. */
function arrive(state: State): ServerLink {
  const link = new ServerLink('whole', {
    client: { strict: state.strict, algorithms: { kex: ['curve25519-sha256'] } },
    script: {
      onLogin: ({ attempt }) => {
        if (attempt.method === 'none') return { verdict: 'refuse' };
        if (attempt.method === 'password') return { verdict: 'accept' };
        return { verdict: 'prompt', title: '', instruction: '', prompts: [{ text: 'Code: ', echo: true }] };
      },
    },
  });
  state.reach(link);
  link.pump();
  link.server.alive();
  return link;
}

function message(link: ServerLink, number: number): Uint8Array {
  if (number === 20) return encode(transport.kexinit, link.client.kexinit());
  if (number === 61) return encode(keyboardAuth.infoResponse, { count: 1, responses: new Uint8Array(4) });
  return everyMessage(number);
}

/** Sends one message to a server in this state and says what it does. */
function react(state: State, link: ServerLink, number: number): Reaction {
  const payload = message(link, number);
  const waiting = link.client.inbox.splice(0);
  const { length: before } = link.server.events;
  const { sequence } = link.client;
  // what follows a NEWKEYS that is in order comes under the new keys
  if (number === 21 && state.name.startsWith('NEWKEYS')) link.client.sendNewkeys();
  else link.client.send(payload);
  link.pump();
  const sent = link.client.inbox.splice(0, link.client.inbox.length, ...waiting).map((received) => received.payload);
  if (sent[0]?.[0] === transport.unimplemented.number) {
    assert.deepEqual(decode(transport.unimplemented, sent[0]), { sequence }, 'UNIMPLEMENTED names the message');
  }
  const told = link.server.events.slice(before).map(({ type }) => type);
  const parts = [
    sent.length === 0 ? '' : `sends ${sent.map(nameOf).join('+')}`,
    told.length === 0 ? '' : `tells ${told.join('+')}`,
    link.server.connection.closed ? (link.server.cause?.code ?? 'good order') : '',
  ];
  return parts.filter((part) => part !== '').join('; ') || 'nothing';
}

function nameOf(payload: Uint8Array): string {
  const name = shortName(namesOf([payload])[0] as string);
  return name === 'DISCONNECT' ? `DISCONNECT ${new Reader(payload, 1).u32()}` : name;
}

/** After these the server must be where it was: the next number is tried on the same link. */
const harmless: readonly Reaction[] = [I, U, DEBUG, PONG];

describe('a server reacts to every message number as the RFCs say', () => {
  for (const state of states) {
    it(`${state.name}${state.strict ? ', strict' : ', not strict'}`, () => {
      const wrong: string[] = [];
      let link: ServerLink | undefined;
      for (let number = 0; number < 256; number++) {
        link ??= arrive(state);
        const [is, must] = [react(state, link, number), expected(state.rules, number)];
        if (is !== must) wrong.push(`${number}: ${is}, but must be: ${must}`);
        // a KEXINIT that is in order is answered later, and all is different after it
        if (!harmless.includes(is) || number === 20) link = undefined;
      }
      assert.deepEqual(wrong, []);
    });
  }
});
