/** A server `Connection` driven by a test, which answers questions from a script and grants whatever a client asks for. */

import type { CommonConfig } from '../../src/core/config.ts';
import type { LoginVerdict, Question } from '../../src/core/events.ts';
import type { ServerSide } from '../../src/core/side.ts';
import { commonConfig } from './core_client.ts';
import { type Answer, CoreSide, type SideScript } from './core_side.ts';
import { memoCrypto } from './memo_crypto.ts';
import { replayedRandom } from './replayed_random.ts';
import { ed25519Signer } from './scripted_peer.ts';
import { testAlgorithms } from './test_keys.ts';

export type LoginQuestion = Extract<Question, { kind: 'login' }>;

/** What the server does when it is asked. */
export interface ServerScript extends SideScript {
  /** Default: everybody is let in, whatever they show. */
  readonly onLogin?: (question: LoginQuestion) => Answer<LoginVerdict>;
  /** Default: any key would do. */
  readonly onKeyQuery?: (question: Extract<Question, { kind: 'key-query' }>) => Answer<boolean>;
  /** Default: any answers are right. */
  readonly onResponses?: (responses: readonly string[]) => Answer<LoginVerdict>;
}

export type ServerConfig = CommonConfig & ServerSide;

/** A core server with the defaults of the product, except that randomness is seeded and crypto remembers. */
export function serverConfig(changes: Partial<ServerConfig> = {}): ServerConfig {
  return {
    ...commonConfig(changes.crypto),
    role: 'server',
    random: replayedRandom('server'),
    hostKeys: [ed25519Signer(memoCrypto, 7)],
    methods: ['publickey', 'password', 'keyboard-interactive'],
    signatures: testAlgorithms,
    banner: '',
    ...changes,
  };
}

export class CoreServer extends CoreSide {
  constructor(config: ServerConfig = serverConfig(), script: ServerScript = {}) {
    super(config, script, { grants: true, decide: (question) => decide(question, script) });
  }
}

function decide(question: Question, script: ServerScript): Answer<unknown> {
  const { onLogin, onKeyQuery, onResponses } = script;
  switch (question.kind) {
    case 'login':
      return onLogin?.(question) ?? { verdict: 'accept' };
    case 'key-query':
      return onKeyQuery?.(question) ?? true;
    case 'responses':
      return onResponses?.(question.responses) ?? { verdict: 'accept' };
    default:
      throw new Error(`a server is never asked about ${question.kind}`);
  }
}
