import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pair } from '../support/pair.ts';

describe('Connection.stats', () => {
  it('counts what was on the line, packets, key exchanges and channels, the same at both ends', () => {
    const pair = new Pair().login();
    const before = pair.client.connection.stats;
    assert.deepEqual([before.keyExchanges, before.channels, pair.server.connection.stats.channels], [1, 0, 0]);
    const id = pair.client.connection.openChannel('session', new Uint8Array(0));
    pair.pump();
    pair.client.connection.write(id, [new Uint8Array(100_000)]);
    pair.client.connection.rekey();
    pair.pump();
    pair.alive();
    const [client, server] = [pair.client.connection.stats, pair.server.connection.stats];
    assert.deepEqual([client.keyExchanges, server.keyExchanges], [2, 2]);
    assert.deepEqual([client.channels, server.channels], [1, 1]);
    assert.equal(client.bytesOut, pair.bytesFrom('client').length);
    assert.equal(client.bytesIn, pair.bytesFrom('server').length);
    assert.deepEqual([client.bytesOut, client.packetsOut], [server.bytesIn, server.packetsIn]);
    assert.deepEqual([client.bytesIn, client.packetsIn], [server.bytesOut, server.packetsOut]);
    assert.ok(client.packetsOut >= before.packetsOut + 4, 'four packets take 100 000 bytes');
    assert.equal('roundTrip' in client, false, 'nobody has told the time');
  });
});
