/**
 * Every message number in every phase, on the wire, to a client. The expectations are typed from the RFCs and not from
 * `core/phase.ts`: RFC 4253 §7.1 (what may come during key exchange), §11 (what may come at any time, what is unknown), RFC
 * 8308 §2.4, RFC 4252 §5 and §6, RFC 4254, OpenSSH PROTOCOL §1.8 (ping) and §1.9 (strict key exchange).
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connection } from '../../src/wire/connection.ts';
import { ecdh } from '../../src/wire/exchange.ts';
import { decode, encode } from '../../src/wire/message.ts';
import { transport } from '../../src/wire/transport.ts';
import { userauth } from '../../src/wire/userauth.ts';
import { Link } from '../support/link.ts';
import { PeerChannel } from '../support/peer_channel.ts';
import { namesOf } from '../support/scripted_peer.ts';
import { everyMessage, expected, type Reaction, type Rules, shortName } from './every_message.ts';

const empty = new Uint8Array(0);

/** Ends with a breach of the protocol, and says so. */
const D: Reaction = 'sends DISCONNECT; tells closed; protocol';
/** Nothing happens. */
const I: Reaction = 'nothing';
/** RFC 4253 §11.4. */
const U: Reaction = 'sends UNIMPLEMENTED';
const ENDS: Reaction = 'tells closed; disconnected';
const DEBUG: Reaction = 'tells debug';
const PONG: Reaction = 'sends PONG';

/** 1–4 have one meaning everywhere but in strict key exchange. */
const always: Rules = { '0-255': U, 1: ENDS, 2: I, 3: I, 4: DEBUG };
/** What nobody but a logged-in client may be sent, and what no client may ever be sent. */
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
  readonly reach: (link: Link) => void;
  readonly rules: Rules;
}

const asked = (link: Link): void => {
  link.peer.identify();
  link.peer.sendKexinit();
  link.peer.takeKexinit();
  link.pump();
};
const switching = (link: Link): void => {
  asked(link);
  link.peer.send(encode(ecdh.reply, link.peer.reply()));
  link.peer.expect(transport.newkeys.number);
};
const service = (link: Link): void => {
  link.peer.handshake();
  link.peer.expect(transport.serviceRequest.number);
  link.peer.expect(userauth.request.number);
};
const auth = (link: Link): void => {
  link.peer.handshake();
  link.peer.grantService();
  link.peer.expect(userauth.request.number);
};
/** Channel 0 is open with a request that waits for its answer, channel 1 is being opened, a global request waits. */
const open = (link: Link): void => {
  auth(link);
  link.peer.send(encode(userauth.success, {}));
  link.pump();
  const { connection: client } = link.client;
  client.openChannel('session', empty);
  new PeerChannel(link.peer);
  client.requestChannel(0, 'a', empty, true);
  client.requestGlobal('b', empty, true);
  client.openChannel('session', empty);
  link.peer.until(connection.channelOpen.number);
};
const offered = (link: Link): void => {
  open(link);
  link.client.connection.rekey();
  link.peer.takeKexinit();
};
const rekeyAsked = (link: Link): void => {
  open(link);
  link.peer.sendKexinit();
  link.peer.takeKexinit();
  link.pump();
};
const earlyAsked = (link: Link): void => {
  auth(link);
  link.peer.sendKexinit();
  link.peer.takeKexinit();
  link.pump();
};
const rekeySwitching = (link: Link): void => {
  rekeyAsked(link);
  link.peer.send(encode(ecdh.reply, link.peer.reply()));
  link.peer.until(transport.newkeys.number);
};

const START_METHOD = 'sends ECDH_INIT';
const START_EXCHANGE = 'sends KEXINIT+ECDH_INIT';
const TRUST = 'sends NEWKEYS; tells question';
const keyed: Rules = { 21: 'sends SERVICE_REQUEST+USERAUTH_REQUEST; tells keys+question' };

const openRules: Rules = {
  ...always,
  ...never,
  7: I, // too late to matter
  20: START_EXCHANGE,
  '51-53': I, // RFC 4252 §5.3, and devices that repeat FAILURE
  '60-79': I,
  80: 'tells global-request',
  81: 'tells global-reply',
  82: 'tells global-reply',
  90: 'sends CHANNEL_OPEN_FAILURE; tells channel-open-request',
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
  50: D,
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

const states: State[] = [
  {
    name: 'before KEXINIT',
    strict: false,
    reach: (link) => link.peer.identify(),
    rules: { ...laxExchange, 20: START_METHOD },
  },
  { name: 'method runs', strict: false, reach: asked, rules: { ...laxExchange, 31: TRUST } },
  { name: 'method runs', strict: true, reach: asked, rules: { ...strictOnly, 31: TRUST } },
  { name: 'NEWKEYS awaited', strict: false, reach: switching, rules: { ...laxExchange, ...keyed } },
  { name: 'NEWKEYS awaited', strict: true, reach: switching, rules: { ...strictOnly, ...keyed } },

  {
    name: 'service requested',
    strict: true,
    reach: service,
    rules: {
      ...always,
      ...never,
      6: I,
      7: I,
      20: START_EXCHANGE,
      192: PONG,
      193: I,
    },
  },
  {
    name: 'authentication',
    strict: true,
    reach: auth,
    rules: {
      ...always,
      ...never,
      7: I,
      20: START_EXCHANGE,
      51: 'tells question',
      52: 'tells authenticated',
      53: 'tells banner',
      192: PONG,
      193: I,
    },
  },
  {
    name: 'method runs again before login',
    strict: true,
    reach: earlyAsked,
    rules: { ...laxExchange, 31: 'sends NEWKEYS' },
  },
  { name: 'open', strict: true, reach: open, rules: openRules },
  {
    name: 'our KEXINIT is out',
    strict: true,
    reach: offered,
    // the same, but what is not key exchange waits
    rules: {
      ...openRules,
      20: START_METHOD,
      90: 'tells channel-open-request',
      97: 'tells channel-closed',
      192: I,
    },
  },
  {
    name: 'method runs again',
    strict: true,
    reach: rekeyAsked,
    rules: { ...laxExchange, ...forgiven, 31: 'sends NEWKEYS' },
  },
  {
    name: 'NEWKEYS awaited again',
    strict: true,
    reach: rekeySwitching,
    rules: { ...laxExchange, ...forgiven, ...answered, 21: 'tells keys' },
  },
];

/** A message of every number that is as good as it can be. */
function message(link: Link, number: number): Uint8Array {
  if (number === 20) return encode(transport.kexinit, link.peer.kexinit());
  const init = link.peer.inbox.find(({ payload }) => payload[0] === 30);
  if (number !== 31 || init === undefined) return everyMessage(number);
  return encode(ecdh.reply, link.peer.replyTo(decode(ecdh.init, init.payload).publicValue));
}

/** A client in this state. */
function arrive(state: State): Link {
  let questions = 0;
  const link = new Link('whole', {
    peer: { strict: state.strict },
    script: { onCredentials: () => (questions++ === 0 ? { method: 'none' } : 'later') },
  });
  state.reach(link);
  link.pump();
  return link;
}

/** Sends one message to a client in this state and says what it does. */
function react(state: State, link: Link, number: number): Reaction {
  const payload = message(link, number);
  const waiting = link.peer.inbox.splice(0);
  const { length: before } = link.client.events;
  const { sequence } = link.peer;
  // what follows a NEWKEYS that is in order comes under the new keys
  if (number === 21 && state.name.startsWith('NEWKEYS')) link.peer.sendNewkeys();
  else link.peer.send(payload);
  link.pump();
  const sent = link.peer.inbox.splice(0, link.peer.inbox.length, ...waiting).map((received) => received.payload);
  if (sent[0]?.[0] === 3) {
    assert.deepEqual(decode(transport.unimplemented, sent[0]), { sequence }, 'UNIMPLEMENTED names the message');
  }
  const told = link.client.events.slice(before).map(({ type }) => type);
  const parts = [
    sent.length === 0 ? '' : `sends ${namesOf(sent).map(shortName).join('+')}`,
    told.length === 0 ? '' : `tells ${told.join('+')}`,
    link.client.connection.closed ? (link.client.cause?.code ?? 'good order') : '',
  ];
  return parts.filter((part) => part !== '').join('; ') || 'nothing';
}

/** After these the client must be where it was: the next number is tried on the same link. */
const harmless: readonly Reaction[] = [I, U, DEBUG, PONG];

describe('a client reacts to every message number as the RFCs say', () => {
  for (const state of states) {
    it(`${state.name}${state.strict ? ', strict' : ', not strict'}`, () => {
      const wrong: string[] = [];
      let link: Link | undefined;
      for (let number = 0; number < 256; number++) {
        link ??= arrive(state);
        const [is, must] = [react(state, link, number), expected(state.rules, number)];
        if (is !== must) wrong.push(`${number}: ${is}, but must be: ${must}`);
        if (!harmless.includes(is)) link = undefined;
      }
      assert.deepEqual(wrong, []);
    });
  }
});
