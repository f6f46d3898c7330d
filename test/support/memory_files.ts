/** A local file system in memory that fails and dawdles when told to. */

import { SshError } from '../../src/errors.ts';
import type { LocalFile, LocalFiles, LocalKind, LocalOpenOptions, LocalStat } from '../../src/io/local_files.ts';

interface Node {
  bytes: Uint8Array;
  readonly permissions: number;
  readonly kind: LocalKind;
}

export class MemoryFiles implements LocalFiles {
  readonly nodes: Map<string, Node> = new Map();
  /** Every call, such as `write a 0+3`. */
  readonly log: string[] = [];
  /** Files that are open now. */
  opened = 0;
  /** Which calls fail. */
  fail: (call: { readonly operation: string; readonly path: string }) => boolean = () => false;
  /** Milliseconds that a read or write takes. */
  delay = 0;

  add(path: string, bytes: Uint8Array, permissions = 0o644, kind: LocalKind = 'file'): this {
    this.nodes.set(path, { bytes, permissions, kind });
    return this;
  }

  content(path: string): Uint8Array {
    const node = this.nodes.get(path);
    if (node === undefined) throw new Error(`${path} is not there`);
    return node.bytes;
  }

  #call(operation: string, path: string, detail = ''): void {
    this.log.push(`${operation} ${path}${detail}`);
    if (!this.fail({ operation, path })) return;
    throw new SshError('bad-local-file', `${operation} ${path}: told to fail`, { operation, path });
  }

  async open(path: string, { access, create = 'replace', permissions = 0o644 }: LocalOpenOptions): Promise<LocalFile> {
    this.#call('open', path, access === 'read' ? '' : ` ${create}`);
    let node = this.nodes.get(path);
    if (access === 'read' && node === undefined) {
      throw new SshError('bad-local-file', `open ${path}: not there`, { operation: 'open', path });
    }
    if (node === undefined) {
      node = { bytes: new Uint8Array(0), permissions, kind: 'file' };
      this.nodes.set(path, node);
    } else if (access === 'write' && create === 'replace') node.bytes = new Uint8Array(0);
    this.opened++;
    return this.#file(path, node);
  }

  #file(path: string, node: Node): LocalFile {
    const wait = async (): Promise<void> => {
      if (this.delay > 0) await new Promise((resolve) => setTimeout(resolve, this.delay));
    };
    let open = true;
    let pending = 0;
    return {
      read: async (target, position) => {
        await wait();
        this.#call('read', path);
        const bytes = node.bytes.subarray(position, position + target.length);
        target.set(bytes);
        return bytes.length;
      },
      write: async (pieces, position) => {
        pending++;
        await wait();
        pending--;
        let length = 0;
        for (const piece of pieces) length += piece.length;
        if (node.kind === 'other' && position !== node.bytes.length)
          throw new Error('a device was written out of order');
        this.#call('write', path, ` ${position}+${length}`);
        if (node.bytes.length < position + length) {
          const grown = new Uint8Array(position + length);
          grown.set(node.bytes);
          node.bytes = grown;
        }
        let at = position;
        for (const piece of pieces) {
          node.bytes.set(piece, at);
          at += piece.length;
        }
      },
      size: async () => node.bytes.length,
      truncate: async (size) => {
        this.#call('truncate', path, ` ${size}`);
        node.bytes = node.bytes.slice(0, size);
      },
      sync: async () => this.#call('sync', path),
      close: async () => {
        if (!open || pending > 0) throw new Error(`${path} was closed twice, or while it was written`);
        open = false;
        this.opened--;
        this.#call('close', path);
      },
    };
  }

  async stat(path: string): Promise<LocalStat | undefined> {
    const node = this.nodes.get(path);
    return node && { kind: node.kind, size: node.bytes.length, permissions: node.permissions };
  }

  async resolve(path: string): Promise<string | undefined> {
    return this.nodes.has(path) ? path : undefined;
  }

  async rename(from: string, to: string): Promise<void> {
    this.#call('rename', from, ` ${to}`);
    this.nodes.set(to, this.nodes.get(from) as Node);
    this.nodes.delete(from);
  }

  async remove(path: string): Promise<void> {
    this.#call('remove', path);
    this.nodes.delete(path);
  }

  name(path: string): string {
    return path.slice(path.lastIndexOf('/') + 1);
  }

  beside(path: string, name: string): string {
    return path.slice(0, path.lastIndexOf('/') + 1) + name;
  }
}
