import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../../../src/bytes/bytes.ts';
import { fromHex } from '../../../src/bytes/text.ts';
import type { Limits } from '../../../src/core/limits.ts';
import { thrown } from '../tools.ts';
import { type Desk, deciding, failure, keyboard, password, request, SUCCESS, string } from './desk.ts';

describe('ClientAuth, with keyboard-interactive,', () => {
  const info = (title: string, instruction: string, ...prompts: readonly (readonly [string, boolean])[]): string =>
    `3c${string(title)}${string(instruction)}${string('')}${prompts.length.toString(16).padStart(8, '0')}` +
    prompts.map(([text, echo]) => `${string(text)}${echo ? '01' : '00'}`).join('');

  function asked(limits: Partial<Limits> = {}): Desk {
    const desk = deciding(limits);
    desk.attempt(keyboard);
    return desk;
  }

  it('answers a round without prompts by itself (RFC 4256 §3.2)', () => {
    const desk = asked();
    desk.receive(info('', ''));
    assert.deepEqual([desk.takeSent(), desk.asked.length], [['3d00000000'], 0]);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['keyboard-interactive'] }]);
  });

  it('asks what the server asks, sanitised, and sends the answers in order', () => {
    const desk = asked();
    desk.receive(info('T\x07', 'one\ntwo', ['Password: ', false], ['C\x1bode: ', true]));
    assert.deepEqual(desk.question(), {
      kind: 'prompts',
      title: 'T\\x07',
      instruction: 'one\ntwo',
      prompts: [
        { text: 'Password: ', echo: false },
        { text: 'C\\x1bode: ', echo: true },
      ],
    });
    desk.answer(['secr\u00e9t', '']);
    assert.deepEqual(desk.takeSent(), [`3d00000002${string('secr\u00e9t')}${string('')}`]);
  });

  it('goes through several rounds', () => {
    const desk = asked();
    for (const text of ['first', 'second', 'third']) {
      desk.receive(info('', '', [text, true]));
      desk.answer([text]);
      assert.deepEqual(desk.takeSent(), [`3d00000001${string(text)}`]);
      desk.receive(info('', ''));
      assert.deepEqual(desk.takeSent(), ['3d00000000']);
    }
    desk.receive(failure('password', false));
    const question = desk.question();
    assert.ok(question.kind === 'credentials');
    assert.deepEqual(question.failed, keyboard);
  });

  it('wants as many answers as there are prompts', () => {
    for (const answers of [[], ['a'], ['a', 'b', 'c']]) {
      const desk = asked();
      desk.receive(info('', '', ['x', true], ['y', true]));
      const error = thrown('bad-argument', () => desk.answer(answers));
      assert.equal(error.message, `2 prompts need 2 responses, not ${answers.length}`);
      assert.deepEqual(desk.takeSent(), []);
    }
  });

  it('takes 100 prompts and no more, whatever follows', () => {
    const prompts = (count: number): [string, boolean][] => Array.from({ length: count }, () => ['p', true]);
    const desk = asked();
    desk.receive(info('', '', ...prompts(100)));
    const question = desk.question();
    assert.ok(question.kind === 'prompts' && question.prompts.length === 100);
    const error = thrown('protocol', () => asked().receive(info('', '', ...prompts(101))));
    assert.equal(error.message, 'The server asks 101 questions at once; 100 are allowed');
    thrown('protocol', () => asked().receive(`3c${string('')}${string('')}${string('')}ffffffff`));
  });

  it('refuses requests that are cut off or too long', () => {
    const whole = fromHex(info('a', 'b', ['c', true], ['d', false]));
    for (let length = 1; length < whole.length; length++) {
      thrown('decode', () => asked().auth.receive(whole.subarray(0, length)));
    }
    thrown('decode', () => asked().auth.receive(concat(whole, Uint8Array.of(0))));
  });
});

describe('ClientAuth, when the password has expired,', () => {
  it('asks for a new one and sends both (RFC 4252 §8)', () => {
    const desk = deciding();
    desk.attempt(password);
    desk.receive(`3c${string('Too old\x1b')}${string('en')}`);
    assert.deepEqual(desk.question(), { kind: 'new-password', prompt: 'Too old\\x1b' });
    desk.answer('n\u00e9w');
    assert.deepEqual(desk.takeSent(), [`${request('password')}01${string('gr\u00fcn')}${string('n\u00e9w')}`]);
    desk.receive(SUCCESS);
    assert.deepEqual(desk.events, [{ type: 'authenticated', username: 'ada', methods: ['password'] }]);
  });
});
