/** A local file system in memory that fails and dawdles when told to. */

import { toBytes } from '../../src/bytes/text.ts';
import { SshError } from '../../src/errors.ts';
import type {
  LocalAttributes,
  LocalEntry,
  LocalFile,
  LocalFiles,
  LocalKind,
  LocalOpenOptions,
  LocalStat,
} from '../../src/io/local_files.ts';

interface Node {
  bytes: Uint8Array;
  permissions: number;
  readonly kind: LocalKind;
  modified: number;
  accessed: number;
  /** What a symbolic link holds. */
  readonly target?: string;
  readonly id: string;
}

export class MemoryFiles implements LocalFiles {
  readonly nodes: Map<string, Node> = new Map();
  /** Every call, such as `write a 0+3`. */
  readonly log: string[] = [];
  /** Files that are open now. */
  opened = 0;
  #made = 0;
  /** Which calls fail. */
  fail: (call: { readonly operation: string; readonly path: string }) => boolean = () => false;
  /** Milliseconds that a read or write takes. */
  delay = 0;
  /** The time of files that are made or written, in seconds since 1970. */
  now = 1_700_000_000;

  /** Directories need not be added: whatever has something below it is one. */
  add(path: string, bytes: Uint8Array, permissions = 0o644, kind: LocalKind = 'file'): this {
    this.nodes.set(path, { bytes, permissions, kind, modified: this.now, accessed: this.now, id: `${this.#made++}` });
    return this;
  }

  content(path: string): Uint8Array {
    const node = this.nodes.get(path);
    if (node === undefined) throw new Error(`${path} is not there`);
    return node.bytes;
  }

  #call(operation: string, path: string, detail = ''): void {
    this.log.push(`${operation} ${path}${detail}`);
    if (this.fail({ operation, path })) throw failed(operation, path, 'told to fail');
  }

  async open(path: string, { access, create = 'replace', permissions = 0o644 }: LocalOpenOptions): Promise<LocalFile> {
    this.#call('open', path, access === 'read' ? '' : ` ${create}`);
    const real = this.#follow(path) ?? path;
    let node = this.nodes.get(real);
    if (access === 'read' && node === undefined) throw failed('open', path, 'not there');
    if (access === 'write' && create === 'new' && node !== undefined) throw failed('open', path, 'it is there');
    if (access === 'write' && create === 'never' && node === undefined) throw failed('open', path, 'not there');
    if (node === undefined) {
      node = this.add(real, new Uint8Array(0), permissions).nodes.get(real) as Node;
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
        node.bytes = lengthened(node.bytes, position + length);
        node.modified = this.now;
        let at = position;
        for (const piece of pieces) {
          node.bytes.set(piece, at);
          at += piece.length;
        }
      },
      size: async () => node.bytes.length,
      stat: async () => statOf(node),
      setAttributes: async (attributes) => {
        this.#call('setAttributes', path, ` ${JSON.stringify(attributes)}`);
        Object.assign(node, attributes);
      },
      truncate: async (size) => {
        this.#call('truncate', path, ` ${size}`);
        node.bytes = lengthened(node.bytes.slice(0, size), size);
        node.modified = this.now;
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
    if (node !== undefined) return statOf(node);
    return this.#isParent(path) ? { kind: 'directory', size: 0, permissions: 0o755 } : undefined;
  }

  #isParent(path: string): boolean {
    const prefix = path.endsWith('/') ? path : `${path}/`;
    for (const each of this.nodes.keys()) if (each.startsWith(prefix)) return true;
    return false;
  }

  /** Where `path` leads; `undefined`: nowhere. */
  #follow(path: string, depth = 0): string | undefined {
    const node = this.nodes.get(path);
    if (node?.target === undefined || depth > 20) return node === undefined && !this.#isParent(path) ? undefined : path;
    return this.#follow(node.target.startsWith('/') ? node.target : this.beside(path, node.target), depth + 1);
  }

  async resolve(path: string): Promise<string | undefined> {
    return this.#follow(path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#call('rename', from, ` ${to}`);
    const node = this.nodes.get(from);
    if (node === undefined) throw failed('rename', from, 'not there');
    this.nodes.delete(from);
    this.nodes.set(to, node);
  }

  async remove(path: string): Promise<void> {
    this.#call('remove', path);
    this.nodes.delete(path);
  }

  async list(path: string): Promise<readonly LocalEntry[]> {
    this.#call('list', path);
    const real = this.#follow(path) ?? path;
    if ((await this.stat(real))?.kind !== 'directory') throw failed('list', path, 'it is no directory');
    const prefix = real.endsWith('/') ? real : `${real}/`;
    const entries = new Map<string, LocalKind>();
    for (const [each, { kind }] of this.nodes) {
      if (!each.startsWith(prefix) || each === prefix) continue;
      const [name = '', ...below] = each.slice(prefix.length).split('/');
      entries.set(name, below.length > 0 ? 'directory' : kind);
    }
    return [...entries].map(([name, kind]) => ({ name, kind }));
  }

  async makeDirectory(path: string, permissions = 0o755): Promise<boolean> {
    this.#call('makeDirectory', path);
    const there = await this.stat(this.#follow(path) ?? path);
    if (there?.kind === 'directory') return false;
    if (there !== undefined) throw failed('make', path, 'it is there');
    this.add(path, new Uint8Array(0), permissions, 'directory');
    return true;
  }

  async readLink(path: string): Promise<string> {
    const target = this.nodes.get(path)?.target;
    if (target === undefined) throw failed('read', path, 'it is no link');
    return target;
  }

  async makeLink(target: string, path: string): Promise<void> {
    this.#call('makeLink', path, ` ${target}`);
    if (this.nodes.has(path)) throw failed('link', path, 'it is there');
    const { now } = this;
    const bytes = toBytes(target);
    const id = `${this.#made++}`;
    this.nodes.set(path, { bytes, permissions: 0o777, kind: 'symlink', modified: now, accessed: now, target, id });
  }

  async setAttributes(path: string, attributes: LocalAttributes): Promise<void> {
    this.#call('setAttributes', path, ` ${JSON.stringify(attributes)}`);
    const real = this.#follow(path) ?? path;
    if (!this.nodes.has(real) && this.#isParent(real)) this.add(real, new Uint8Array(0), 0o755, 'directory');
    const node = this.nodes.get(real);
    if (node === undefined) throw failed('chmod', path, 'not there');
    Object.assign(node, attributes);
  }

  name(path: string): string {
    return path.slice(path.lastIndexOf('/') + 1);
  }

  beside(path: string, name: string): string {
    return path.slice(0, path.lastIndexOf('/') + 1) + name;
  }

  join(directory: string, name: string): string {
    return directory === '' || directory.endsWith('/') ? directory + name : `${directory}/${name}`;
  }
}

function failed(operation: string, path: string, why: string): SshError {
  return new SshError('bad-local-file', `${operation} ${path}: ${why}`, { operation, path });
}

function statOf({ kind, bytes, permissions, modified, accessed, id }: Node): LocalStat {
  return { kind, size: bytes.length, permissions, modified, accessed, id };
}

/** `bytes` with zeros behind, up to `size` of them. */
function lengthened(bytes: Uint8Array, size: number): Uint8Array {
  if (bytes.length >= size) return bytes;
  const grown = new Uint8Array(size);
  grown.set(bytes);
  return grown;
}
