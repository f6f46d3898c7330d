/** The lock of a served tree. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TreeLock } from '../../../src/sftp/server/tree_lock.ts';
import { seededRandom } from '../../support/random.ts';

/** Work that begins and ends when the test says so. */
class Work {
  readonly log: string[];
  readonly name: string;
  end: () => void = () => {};

  constructor(log: string[], name: string) {
    this.log = log;
    this.name = name;
  }

  readonly run = async (): Promise<string> => {
    this.log.push(`+${this.name}`);
    await new Promise<void>((resolve) => {
      this.end = resolve;
    });
    this.log.push(`-${this.name}`);
    return this.name;
  };
}

/** Lets everything happen that can. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe('TreeLock', () => {
  it('lets many share, one be alone, and each come in its turn', async () => {
    const log: string[] = [];
    const lock = new TreeLock();
    const [a, b, c, d, e, f] = [...'abcdef'].map((name) => new Work(log, name)) as [Work, Work, Work, Work, Work, Work];
    const all = [lock.shared(a.run), lock.shared(b.run), lock.exclusive(c.run), lock.shared(d.run), lock.shared(e.run)];
    all.push(lock.exclusive(f.run));
    await settle();
    assert.equal(log.join(' '), '+a +b');
    b.end();
    await settle();
    assert.equal(log.join(' '), '+a +b -b', 'an exclusive one waits for all');
    a.end();
    await settle();
    assert.equal(log.join(' '), '+a +b -b -a +c');
    c.end();
    await settle();
    assert.equal(log.join(' '), '+a +b -b -a +c -c +d +e', 'those that waited together share');
    e.end();
    d.end();
    await settle();
    f.end();
    assert.deepEqual(await Promise.all(all), [...'abcdef']);
    assert.equal(log.slice(-4).join(' '), '-e -d +f -f');
  });

  it('goes on after work that fails', async () => {
    const lock = new TreeLock();
    const fail = async (): Promise<never> => {
      throw new Error('told to');
    };
    for (let i = 0; i < 3; i++) {
      const results = await Promise.allSettled([
        lock.exclusive(fail),
        lock.shared(fail),
        lock.exclusive(async () => i),
      ]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ['rejected', 'rejected', 'fulfilled'],
      );
      assert.equal(await lock.shared(async () => i), i);
    }
  });

  it('never lets two be where one is alone, however they come', async () => {
    const random = seededRandom('tree lock');
    const lock = new TreeLock();
    let sharing = 0;
    let alone = 0;
    let most = 0;
    let finished = 0;
    const pause = async (): Promise<void> => {
      for (let turns = (random(1)[0] as number) % 4; turns > 0; turns--) await undefined;
    };
    const check = (): void => {
      assert.ok(alone <= 1 && (alone === 0 || sharing === 0), `${sharing} share, ${alone} alone`);
      most = Math.max(most, sharing);
    };
    const client = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) {
        await pause();
        if ((random(1)[0] as number) % 3 === 0) {
          await lock.exclusive(async () => {
            alone++;
            check();
            await pause();
            alone--;
          });
        } else {
          await lock.shared(async () => {
            sharing++;
            check();
            await pause();
            sharing--;
          });
        }
        finished++;
      }
    };
    await Promise.all(Array.from({ length: 10 }, client));
    assert.equal(finished, 500);
    assert.ok(most > 1, 'nobody shared');
  });
});
