/** A misspelt option would leave its default in force, such as nobody being revoked: it is refused wherever options are taken. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as pako from 'pako';
import * as api from '../src/index.ts';

const misspelt = { revokd: true } as never;
const own = api.generateKey();
const signer = api.signerOf(api.pureProvider, own);
const request = { kind: 'user', keyId: '', key: own.publicKey, principal: ['ada'] } as never;
const noPipe = () => Promise.reject(new Error('there is none'));

const takers: Readonly<Record<string, () => unknown>> = {
  AgentClient: () => new api.AgentClient(noPipe, misspelt),
  acceptNew: () => api.acceptNewIn({} as never, misspelt),
  authorizedKeys: () => api.authorizedKeys({}, misspelt),
  key: () => api.key('', misspelt),
  knownHosts: () => api.knownHostsIn([], misspelt),
  makeKey: () => api.makeKey({ type: 'rsa', bit: 4096 } as never),
  password: () => api.password('', misspelt),
  serveAgent: () => api.serveAgent(api.memoryPipes()[0], {} as never, misspelt),
  signCertificate: () => api.signCertificate(api.pureProvider, signer, request),
  userCertificates: () => api.userCertificates(misspelt),
  zlibFrom: () => api.zlibFrom(pako, misspelt),
};

describe('a misspelt option', () => {
  for (const [subject, take] of Object.entries(takers)) {
    it(`of ${subject} is refused, and the message tells the options that there are`, async () => {
      await assert.rejects(
        async () => take(),
        (error) => {
          assert.ok(error instanceof api.SshError && error.code === 'bad-argument');
          assert.match(error.message, new RegExp(`^${subject}: there is no option \\w+; there are \\w+`));
          return true;
        },
      );
    });
  }

  it('of judgeCertificate is refused: the principals would not matter', async () => {
    const certificate = await api.signCertificate(api.pureProvider, signer, {
      kind: 'user',
      keyId: '',
      key: own.publicKey,
    });
    const use = { kind: 'user', now: 0, allowEmptyPrincipals: true, principals: 'ada' } as never;
    assert.throws(() => api.judgeCertificate(certificate, use), { code: 'bad-argument' });
  });
});
