/** That what puressh gives fits what the platform takes, for the compiler and at run time: no casts here. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RunResult } from '../../src/client/run.ts';
import type { Session } from '../../src/client/session.ts';
import { ByteSource } from '../../src/io/byte_source.ts';
import type { BytePipe } from '../../src/io/pipe.ts';
import { streamsFromPipe } from '../../src/io/streams.ts';
import type { ServerSession } from '../../src/server/session.ts';
import { SftpClient } from '../../src/sftp/client.ts';
import { ScriptedSftp } from '../support/scripted_sftp.ts';

const TEXT = new TextEncoder().encode('grüße');

/** Compiled only: the types that a program meets first. */
export function decoded(session: Session, result: RunResult): [ReadableStream<string>, ReadableStream<string>, Blob] {
  const text = (stream: Session['stdout']) => stream.pipeThrough(new TextDecoderStream());
  return [text(session.stdout), text(session.stderr), new Blob([result.stdout, result.stderr])];
}

/** Compiled only: what a program on a server's session, or one that has a pipe, reads. */
export function received(session: ServerSession, pipe: BytePipe): [ReadableStream<string>, Response] {
  return [session.stdin.pipeThrough(new TextDecoderStream()), new Response(streamsFromPipe(pipe).readable)];
}

describe('bytes for the platform', () => {
  it('a stream of output goes through a TextDecoderStream, split within a character', async () => {
    const source = new ByteSource(() => undefined);
    for (const byte of TEXT) source.push(new Uint8Array([byte]));
    source.end();
    let text = '';
    const reader = source.stream.pipeThrough(new TextDecoderStream()).getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    assert.equal(text, 'grüße');
  });

  it('a file goes into Blob, Response and Web Crypto', async () => {
    const server = new ScriptedSftp({});
    server.add('/f', TEXT);
    const client = await SftpClient.open(server);
    const bytes = await client.readFile('/f');
    assert.equal(await new Blob([bytes]).text(), 'grüße');
    assert.equal((await crypto.subtle.digest('SHA-256', bytes)).byteLength, 32);
    assert.equal(await new Response(client.readable('/f')).text(), 'grüße');
    const pieces: BlobPart[] = [];
    for await (const piece of client.chunks('/f')) pieces.push(piece);
    assert.equal(await new Blob(pieces).text(), 'grüße');
    await client.close();
  });
});
