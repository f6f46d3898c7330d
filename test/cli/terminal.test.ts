/** Asking at a terminal: what is typed, what is shown, and that raw mode ends. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Terminal } from '../../src/cli/terminal.ts';
import type { SshError } from '../../src/errors.ts';

/** A terminal whose keys the test presses. */
class FakeInput {
  raw = false;
  flowing = false;
  readonly #listeners = { data: new Set<(data: string) => void>(), end: new Set<(data: string) => void>() };
  setRawMode(on: boolean): void {
    this.raw = on;
  }
  setEncoding(): void {}
  on(event: 'data' | 'end', listener: (data: string) => void): void {
    this.#listeners[event].add(listener);
  }
  off(event: 'data' | 'end', listener: (data: string) => void): void {
    this.#listeners[event].delete(listener);
  }
  resume(): void {
    this.flowing = true;
  }
  pause(): void {
    this.flowing = false;
  }
  press(data: string): void {
    assert.ok(this.raw && this.flowing, 'nobody listens');
    for (const listener of [...this.#listeners.data]) listener(data);
  }
  end(): void {
    for (const listener of [...this.#listeners.end]) listener('');
  }
  get listeners(): number {
    return this.#listeners.data.size + this.#listeners.end.size;
  }
}

function make(): { input: FakeInput; shown: string[]; terminal: Terminal } {
  const input = new FakeInput();
  const shown: string[] = [];
  return { input, shown, terminal: new Terminal(input, { write: (text) => shown.push(text) }) };
}

async function settled(input: FakeInput): Promise<void> {
  assert.equal(input.raw, false);
  assert.equal(input.flowing, false);
  assert.equal(input.listeners, 0);
}

describe('Terminal.ask', () => {
  it('resolves with the line and shows nothing of it', async () => {
    const { input, shown, terminal } = make();
    const answer = terminal.ask('Password: ', false);
    input.press('gehe');
    input.press('im\r');
    assert.equal(await answer, 'geheim');
    assert.equal(shown.join(''), 'Password: \n');
    await settled(input);
  });

  it('shows what is typed where it may', async () => {
    const { input, shown, terminal } = make();
    const answer = terminal.ask('Code: ', true);
    input.press('12\u007f3\r');
    assert.equal(await answer, '13');
    assert.equal(shown.join(''), 'Code: 12\b \b3\n');
  });

  it('edits with backspace and Ctrl-U, by characters', async () => {
    const { input, terminal } = make();
    const answer = terminal.ask('', false);
    input.press('\u007f\u007fwrong\u0015ü😀\bx\n');
    assert.equal(await answer, 'üx');
  });

  it('keeps what was pasted behind the line for the next question', async () => {
    const { input, terminal } = make();
    const first = terminal.ask('', false);
    input.press('one\r\ntwo\r');
    assert.equal(await first, 'one');
    assert.equal(await terminal.ask('', false), 'two');
    const third = terminal.ask('', false);
    input.press('three\r');
    assert.equal(await third, 'three');
  });

  for (const [name, keys] of [
    ['Ctrl-C', 'half\u0003'],
    ['Ctrl-D on an empty line', '\u0004'],
  ] as const) {
    it(`is aborted by ${name}`, async () => {
      const { input, terminal } = make();
      const answer = terminal.ask('', false);
      input.press(keys);
      await assert.rejects(answer, (error: SshError) => error.code === 'aborted');
      await settled(input);
    });
  }

  it('is aborted at the end of input', async () => {
    const { input, terminal } = make();
    const answer = terminal.ask('', false);
    input.end();
    await assert.rejects(answer, (error: SshError) => error.code === 'aborted');
    await settled(input);
  });

  it('ignores control characters, Ctrl-D within a line too', async () => {
    const { input, terminal } = make();
    const answer = terminal.ask('', false);
    input.press('a\u0004\u0007b\r');
    assert.equal(await answer, 'ab');
  });
});
