/** The sessions whose transcripts stand in `vectors/transcripts`: how each is recorded, and how each of its sides is replayed. */

import { concat } from '../../src/bytes/bytes.ts';
import { signatureAlgorithms } from '../../src/keys/signature.ts';
import { CoreClient, clientConfig } from './core_client.ts';
import { CoreServer, serverConfig } from './core_server.ts';
import type { CoreSide } from './core_side.ts';
import { type Chunking, chunkings, cut } from './feed.ts';
import type { Side } from './pair.ts';
import { optionsOf, play, type Scenario, scenarios } from './pair_scenarios.ts';
import { seededRandom } from './random.ts';
import { recordedSftp } from './recorded_sftp.ts';
import { type TestKeyType, testKey } from './test_keys.ts';
import { type Recorded, Recorder, replay, seedOf, shownKey, type TestKey, type Transcript } from './transcript.ts';

function keyOf(algorithm: string, use: string): TestKey {
  return shownKey(testKey(signatureAlgorithms.get(algorithm)?.keyType as TestKeyType, use));
}

function recordScenario(scenario: Scenario): Transcript {
  const { name, about, hostKey, userKeys = [] } = scenario;
  const keys = {
    client: userKeys.map((algorithm) => keyOf(algorithm, 'user')),
    server: [keyOf(hostKey, 'host')],
  };
  const recorder = new Recorder({ name, about, keys });
  const pair = play(
    scenario,
    {
      client: { random: recorder.random('client'), crypto: recorder.crypto('client') },
      server: { random: recorder.random('server'), crypto: recorder.crypto('server') },
    },
    (side, { sent }) => {
      for (const { from, bytes } of sent.splice(0)) recorder.sent(from, bytes);
      recorder.command(side, 'rekey');
    },
  );
  for (const { from, bytes } of pair.sent) recorder.sent(from, bytes);
  return recorder.transcript();
}

async function replayScenario(
  scenario: Scenario,
  transcript: Transcript,
  side: Side,
  chunking: Chunking,
): Promise<void> {
  const { client, clientScript, server, serverScript } = optionsOf(scenario);
  const random = seededRandom(seedOf(scenario.name, side));
  const line = seededRandom('line');
  const alone: CoreSide =
    side === 'client'
      ? new CoreClient(clientConfig({ ...client, random }), clientScript)
      : new CoreServer(serverConfig({ ...server, random }), serverScript);
  await replay(transcript, side, {
    receive: (bytes) => {
      for (const piece of cut(bytes, chunking, line)) alone.receive(piece);
    },
    command: () => alone.connection.rekey(),
    takeOutput: () => concat(...alone.takeOutput()),
  });
}

export const recorded: readonly Recorded[] = [
  ...scenarios.map((scenario) => ({
    name: scenario.name,
    chunkings,
    record: async () => recordScenario(scenario),
    replay: (transcript: Transcript, side: Side, chunking: Chunking) =>
      replayScenario(scenario, transcript, side, chunking),
  })),
  recordedSftp,
];
