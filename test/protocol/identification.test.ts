/** What may stand before the first packet: RFC 4253 §4.2. */

import assert from 'node:assert/strict';
import { SshError } from '../../src/errors.ts';
import { Link, scenario } from '../support/link.ts';

/** A link whose server says `text` first and then goes on as if it had identified itself. */
function said(chunking: Link['chunking'], text: string): Link {
  const link = new Link(chunking);
  link.peer.identify(text);
  link.pump();
  return link;
}

function handshakeAfter(link: Link): void {
  link.peer.sendKexinit();
  link.peer.takeKexinit();
  link.peer.finishExchange();
}

scenario('the client reads greeting lines, empty ones too, and then connects', (chunking) => {
  const link = said(chunking, 'Welcome\n\nPlease close this \u001b[31mwindow\r\nSSH-2.0-X\r\n');
  handshakeAfter(link);
  const { identification, greeting } = link.client.only('identified');
  assert.equal(identification, 'SSH-2.0-X');
  assert.deepEqual(greeting, ['Welcome', '', 'Please close this \\x1b[31mwindow']);
  link.client.alive();
});

scenario('the client takes an identification that ends in LF alone', (chunking) => {
  const link = said(chunking, 'SSH-2.0-X\n');
  handshakeAfter(link);
  assert.equal(link.client.connection.peerIdentification, 'SSH-2.0-X');
  link.client.alive();
});

scenario('the client takes an identification of 255 bytes with its CR LF', (chunking) => {
  const link = said(chunking, `SSH-2.0-${'x'.repeat(245)}\r\n`);
  handshakeAfter(link);
  assert.equal(link.client.connection.peerIdentification?.length, 253);
  link.client.alive();
});

scenario('the client refuses an identification of 256 bytes', (chunking) => {
  const error = said(chunking, `SSH-2.0-${'x'.repeat(246)}\r\n`).client.failed('identification');
  assert.match(error.message, /256/);
  assert.equal(error.fault, 'peer');
});

scenario('the client refuses an identification with a NUL', (chunking) => {
  assert.match(said(chunking, 'SSH-2.0-X\0Y\r\n').client.failed('identification').message, /NUL/);
});

scenario('the client takes version 1.99 and refuses 1.5, 2.1 and an empty software version', (chunking) => {
  handshakeAfter(said(chunking, 'SSH-1.99-X\r\n'));
  for (const line of ['SSH-1.5-X\r\n', 'SSH-2.1-X\r\n', 'SSH-2.0-\r\n', 'SSH-\r\n']) {
    const { message } = said(chunking, line).client.failed('identification');
    assert.ok(message.includes(line.trim()), message);
  }
});

scenario('the client quotes what a server says that closes instead of identifying itself', (chunking) => {
  const link = said(chunking, 'Too many connections\r\nGo away');
  link.cut();
  const error = link.client.failed('identification');
  assert.match(error.message, /Too many connections/);
  assert.match(error.message, /Go away/);
});

scenario('the client says so when a server closes without a word', (chunking) => {
  const link = said(chunking, '');
  link.cut();
  assert.match(link.client.failed('identification').message, /closed before it identified itself/);
});

scenario('a reset before the identification is a lost connection with the reason in it', (chunking) => {
  const link = said(chunking, 'SSH-2.0');
  const reset = new SshError('connection-lost', 'read ECONNRESET', { fault: 'network' });
  link.cut(reset);
  const error = link.client.failed('connection-lost');
  assert.match(error.message, /ECONNRESET/);
  assert.equal(error.cause, reset);
});

scenario('the client quotes the text of a server that writes text where packets must stand', (chunking) => {
  const link = said(chunking, 'SSH-2.0-X\r\nProtocol mismatch.\n');
  link.cut();
  const error = link.client.failed('identification');
  assert.match(error.message, /Protocol mismatch\./);
  assert.doesNotMatch(error.message, /1349676916/);
  assert.equal(error.fault, 'peer');
});

scenario('the client quotes text without a line end when the server closes after it', (chunking) => {
  const link = said(chunking, 'SSH-2.0-X\r\nProtocol mismatch');
  link.cut();
  assert.match(link.client.failed('identification').message, /Protocol mismatch/);
});

scenario('the client does not wait for the end of text that never ends', (chunking) => {
  const link = said(chunking, `SSH-2.0-X\r\nProtocol ${'mismatch '.repeat(100)}`);
  assert.match(link.client.failed('identification').message, /Protocol mismatch/);
});

scenario('the client names HTTP and TLS', (chunking) => {
  assert.match(said(chunking, 'HTTP/1.1 400 Bad Request\r\n').client.failed('identification').message, /HTTP/);
  const link = new Link(chunking);
  link.peer.sendRaw(Uint8Array.of(0x15, 3, 1, 0, 2, 2, 70));
  link.pump();
  assert.match(link.client.failed('identification').message, /TLS/);
});

scenario('the client gives up on greeting lines without end and on a line without end', (chunking) => {
  assert.match(said(chunking, 'a\n'.repeat(1025)).client.failed('identification').message, /1024 lines/);
  assert.match(said(chunking, 'a'.repeat(8192)).client.failed('identification').message, /8192 bytes/);
});

scenario('the client connects when identification and KEXINIT come in one segment', (chunking) => {
  const link = new Link(chunking);
  link.peer.identify();
  link.peer.sendKexinit();
  link.pump();
  link.peer.takeKexinit();
  link.peer.finishExchange();
  link.client.alive();
});

scenario('the client connects when the server speaks before the client has sent anything', (chunking) => {
  const link = new Link(chunking);
  link.peer.identify();
  link.peer.sendKexinit();
  for (const bytes of link.peer.takeOutput()) link.client.receive(bytes);
  assert.equal(link.peer.clientLine, undefined);
  link.peer.takeKexinit();
  link.peer.finishExchange();
  link.client.alive();
});

scenario('the client sends its identification and KEXINIT without waiting for the server', (chunking) => {
  const link = new Link(chunking);
  link.peer.takeKexinit();
  assert.equal(new TextDecoder().decode(link.peer.clientLine), 'SSH-2.0-puressh_0.1.0');
});

scenario('a server that stays silent times out in phase identification', (chunking) => {
  const link = new Link(chunking);
  link.advance(29_999);
  link.client.alive();
  link.advance(1);
  const error = link.client.failed('timeout');
  assert.equal(error.phase, 'identification');
  assert.match(error.message, /30000 ms/);
});
