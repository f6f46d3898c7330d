import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FileLane } from '../../../src/sftp/server/file_lane.ts';
import { Handles } from '../../../src/sftp/server/handles.ts';
import { seededRandom } from '../../support/random.ts';

describe('Handles', () => {
  const random = seededRandom('handles');
  const lane = (): FileLane => ({ release: () => undefined }) as unknown as FileLane;

  it('finds what it gave, and nothing else', async () => {
    const handles = new Handles(3, random);
    const [a, b] = [lane(), lane()];
    const [first, second] = [handles.add(a), handles.add(b)];
    assert.equal(handles.find(first), a);
    assert.equal(handles.find(second), b);
    const other = new Handles(3, random);
    assert.equal(other.find(first), undefined);
    for (let i = 0; i < first.length; i++) {
      assert.notEqual(handles.find(first.map((byte, at) => (at === i ? byte ^ 0x80 : byte))), a);
    }
    assert.equal(handles.find(new Uint8Array([...first, 0])), undefined);
    await handles.close(first, a);
    assert.equal(handles.find(first), undefined);
    assert.equal(handles.find(second), b);
    assert.equal(a.closed, true);
  });

  it('counts what is still being closed', async () => {
    let done: () => void = () => {};
    const waiting = new Promise<void>((resolve) => {
      done = resolve;
    });
    const slow = { release: () => waiting } as unknown as FileLane;
    const handles = new Handles(1, random);
    const closing = handles.close(handles.add(slow), slow);
    assert.equal(handles.room, false);
    assert.deepEqual(handles.lanes, [slow]);
    done();
    await closing;
    assert.equal(handles.room, true);
  });
});
