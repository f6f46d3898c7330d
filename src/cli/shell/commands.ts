/** The table of commands, and how a line becomes one of them. */

import { printable } from '../../bytes/text.ts';
import { bad } from '../arg_values.ts';
import { changeCommands } from './change_commands.ts';
import { readCall, type ShellCommand, usageOf } from './command.ts';
import { lookCommands } from './look_commands.ts';
import { moveCommands } from './move_commands.ts';
import type { Shell } from './session.ts';
import { splitWords } from './words.ts';

const helpCommand: ShellCommand = {
  name: 'help',
  aliases: ['?'],
  usage: '[command]',
  summary: 'list the commands, or tell about one',
  flags: '',
  least: 0,
  most: 1,
  operands: ['command'],
  run: (shell, { operands }) => shell.lines(helpLines(operands[0]?.text)),
};

/** In the order of `help`. */
export const commands: readonly ShellCommand[] = [
  ...lookCommands,
  ...moveCommands,
  ...changeCommands,
  helpCommand,
].sort((a, b) => (a.name < b.name ? -1 : 1));

const byName = new Map(
  commands.flatMap((command) => [command.name, ...(command.aliases ?? [])].map((name) => [name, command])),
);

export function findCommand(name: string): ShellCommand | undefined {
  return byName.get(name);
}

/** Everything that a line can begin with. */
export const commandNames: readonly string[] = [...byName.keys()].sort();

function helpLines(name: string | undefined): string[] {
  if (name === undefined) {
    const width = 1 + commands.reduce((most, command) => Math.max(most, usageOf(command).length), 0);
    return [
      ...commands.map((command) => `${usageOf(command).padEnd(width)} ${command.summary}`),
      `${'! [command]'.padEnd(width)} run a command of the local shell, or the shell itself`,
    ];
  }
  const command = known(name);
  const also = command.aliases === undefined ? [] : [`Also: ${command.aliases.join(', ')}`];
  return [usageOf(command), `  ${command.summary}`, ...also];
}

function known(name: string): ShellCommand {
  const command = findCommand(name);
  if (command !== undefined) return command;
  throw bad(`There is no command ${printable(name)}: help lists them`);
}

/** Does what a line says. Rejects with an `SshError`. */
export async function runLine(shell: Shell, line: string, signal: AbortSignal): Promise<void> {
  const local = /^\s*!(.*)$/s.exec(line)?.[1];
  if (local !== undefined) return runLocal(shell, local.trim());
  const [name, ...words] = splitWords(line);
  if (name === undefined) return;
  const command = known(name.text);
  await command.run(shell, { ...readCall(command, words), signal });
}

async function runLocal(shell: Shell, line: string): Promise<void> {
  if (shell.output.local === undefined) throw bad('! runs commands of the local shell only for a person at a terminal');
  await shell.output.local(line, shell.localDirectory);
}
