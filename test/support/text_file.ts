/** A known_hosts file in memory. */

import type { TextFile } from '../../src/client/known_hosts_policy.ts';

export class MemoryTextFile implements TextFile {
  readonly name: string;
  text: string | undefined;

  constructor(text?: string, name = '/home/ada/.ssh/known_hosts') {
    this.text = text;
    this.name = name;
  }

  async read(): Promise<string | undefined> {
    return this.text;
  }

  async append(line: string): Promise<void> {
    this.text = `${this.text ?? ''}${line}\n`;
  }

  async edit(change: (text: string | undefined) => string | undefined): Promise<boolean> {
    const changed = change(this.text);
    if (changed !== undefined) this.text = changed;
    return changed !== undefined;
  }
}
