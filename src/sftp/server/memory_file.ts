/** An open file of a file system in memory. It stays the same file whatever happens to its names. */

import type { Attributes } from '../proto/attrs.ts';
import type { FileSystemStats } from '../proto/extensions.ts';
import type { BackendFile } from './backend.ts';
import { attributesOf, type FileNode, type TreeNode } from './memory_tree.ts';
import { PosixError } from './posix_error.ts';

/** What open files need of their file system. */
export interface MemoryHost {
  change(node: TreeNode, attrs: Attributes): void;
  /** Its content is another from now on. */
  touch(node: TreeNode): void;
  statvfs(): FileSystemStats;
  closed(file: FileNode): void;
}

export class MemoryFile implements Required<BackendFile> {
  readonly stream = false;
  readonly #host: MemoryHost;
  readonly #node: FileNode;
  readonly #append: boolean;

  constructor(host: MemoryHost, node: FileNode, append: boolean) {
    this.#host = host;
    this.#node = node;
    this.#append = append;
  }

  read(offset: number, length: number): Uint8Array {
    return this.#node.content.read(offset, length);
  }

  write(offset: number, pieces: readonly Uint8Array[]): void {
    const { content } = this.#node;
    this.#host.touch(this.#node);
    let at = this.#append ? content.size : offset;
    for (const piece of pieces) {
      if (!content.write(at, piece)) throw new PosixError('ENOSPC', 'write');
      at += piece.length;
    }
  }

  stat(): Attributes {
    return attributesOf(this.#node);
  }

  setstat(attrs: Attributes): void {
    this.#host.change(this.#node, attrs);
  }

  sync(): void {}

  statvfs(): FileSystemStats {
    return this.#host.statvfs();
  }

  close(): void {
    this.#host.closed(this.#node);
  }
}
