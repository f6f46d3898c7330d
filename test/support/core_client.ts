/** A client `Connection` driven by a test, which answers questions from a script. */

import { chooseAlgorithms } from '../../src/core/algorithms/lists.ts';
import type { CommonConfig, ConnectionConfig } from '../../src/core/config.ts';
import type { AuthAttempt, Prompt, Question } from '../../src/core/events.ts';
import { defaultLimits } from '../../src/core/limits.ts';
import { defaultRekeyLimits } from '../../src/core/rekey.ts';
import type { ClientSide } from '../../src/core/side.ts';
import type { CryptoProvider } from '../../src/crypto/provider.ts';
import { SshError } from '../../src/errors.ts';
import { type Answer, CoreSide, type SideScript } from './core_side.ts';
import { memoCrypto } from './memo_crypto.ts';
import { replayedRandom } from './replayed_random.ts';

export type { ChannelLog, EventOf } from './core_side.ts';

/** What the client does when it is asked. */
export interface ClientScript extends SideScript {
  /** What to try, one after the other; then it gives up. Default: `none` only. */
  readonly attempts?: readonly AuthAttempt[];
  readonly onCredentials?: (question: Extract<Question, { kind: 'credentials' }>) => Answer<AuthAttempt>;
  readonly onHostKey?: (question: Extract<Question, { kind: 'host-key' }>) => Answer<true>;
  readonly onPrompts?: (prompts: readonly Prompt[]) => Answer<readonly string[]>;
  readonly onNewPassword?: (prompt: string) => Answer<string>;
}

export type ClientConfig = CommonConfig & ClientSide;

/** What both roles have in these tests: the defaults of the product, except that crypto remembers. */
export function commonConfig(crypto: CryptoProvider = memoCrypto): Omit<CommonConfig, 'random'> {
  return {
    crypto,
    algorithms: chooseAlgorithms(crypto),
    software: 'puressh_0.1.0',
    rekey: defaultRekeyLimits,
    limits: defaultLimits,
    keepalive: { interval: Number.POSITIVE_INFINITY, count: 3 },
    window: 2 * 1024 * 1024,
    maxWindow: 64 * 1024 * 1024,
    maxPacket: 32768,
  };
}

/** A core client with the defaults of the product, except that randomness is seeded and crypto remembers. */
export function clientConfig(changes: Partial<ClientConfig> = {}): ClientConfig {
  return {
    ...commonConfig(changes.crypto),
    role: 'client',
    random: replayedRandom('client'),
    username: 'ada',
    ...changes,
  };
}

export class CoreClient extends CoreSide {
  constructor(config: ConnectionConfig = clientConfig(), script: ClientScript = {}) {
    const attempts = [...(script.attempts ?? [{ method: 'none' as const }])];
    super(config, script, { grants: false, decide: (question) => decide(question, script, attempts) });
  }
}

function decide(question: Question, script: ClientScript, attempts: AuthAttempt[]): Answer<unknown> {
  const { onCredentials, onHostKey, onPrompts, onNewPassword } = script;
  switch (question.kind) {
    case 'host-key':
      return onHostKey?.(question) ?? true;
    case 'credentials':
      return onCredentials?.(question) ?? attempts.shift() ?? new SshError('auth-failed', 'nothing left to try');
    case 'prompts':
      return onPrompts?.(question.prompts) ?? question.prompts.map(() => 'answer');
    case 'new-password':
      return onNewPassword?.(question.prompt) ?? new SshError('auth-failed', 'no new password');
    default:
      throw new Error(`a client is never asked about ${question.kind}`);
  }
}
