/** A login that takes a key and then answers, in two rounds. */

import type { LoginHandlers } from '../../../src/server/handlers.ts';
import { api } from '../connect.ts';
import { testKeys } from '../peers/keys.ts';

export const TITLE = 'Who are you?';

export const keyThenQuestions: LoginHandlers = {
  async publickey(attempt) {
    const known = api.authorizedKeys({ ada: testKeys().authorizedKeys });
    return (await known(attempt)) !== false && { partial: ['keyboard-interactive'] };
  },
  async keyboardInteractive({ steps }, ask) {
    const prompts = [
      { text: 'Pet: ', echo: true },
      { text: 'Code: ', echo: false },
    ];
    const [pet, code] = await ask({ title: TITLE, instruction: 'Two questions', prompts });
    const [color] = await ask({ prompts: [{ text: 'Color: ', echo: true }] });
    return steps.length === 1 && pet === 'Bello' && code === '12 34' && color === 'grün';
  },
};
