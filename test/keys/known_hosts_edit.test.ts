import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchKnownHosts, parseKnownHosts } from '../../src/keys/known_hosts.ts';
import {
  addHost,
  findHost,
  formatFoundLines,
  hashHosts,
  type KeyReplacement,
  removeHost,
  replaceKeys,
} from '../../src/keys/known_hosts_edit.ts';
import { crypto, knownHostsRows, publicBlob, publicRows, sshError } from './tools.ts';

const line = (name: string): string => {
  const found = publicRows.find((row) => row.name === name)?.line ?? assert.fail(name);
  return found.trim().split(' ').slice(0, 2).join(' ');
};

describe('findHost', () => {
  for (const { name, lines, lookups } of knownHostsRows) {
    // ssh-keygen passes over keys of types that it does not know; here they can be found, and removed
    if (name === 'only a key of an unknown type') continue;
    for (const { host, port, found } of lookups) {
      it(`finds the lines that ssh-keygen -F finds: ${name}, ${host} port ${port}`, () => {
        const lineNumbers = findHost(crypto, lines.join('\n'), host, port).map((each) => each.line);
        assert.deepEqual(lineNumbers, found);
      });
    }
  }

  it('says what kind of line it is', () => {
    const text = `@cert-authority *.example ${line('ed25519')}\n@revoked * ${line('rsa3072')}\na.example ${line('ecdsa256')}\n`;
    const found = findHost(crypto, text, 'a.example', 22);
    assert.deepEqual(
      found.map(({ marker }) => marker),
      ['cert-authority', 'revoked', 'none'],
    );
    const shown = formatFoundLines('A.example', 22, found).split('\n');
    assert.equal(shown[0], '# Host a.example found: line 1 CA');
    assert.equal(shown[1], `@cert-authority *.example ${line('ed25519')}`);
    assert.equal(shown[2], '# Host a.example found: line 2 REVOKED');
    assert.equal(shown[4], '# Host a.example found: line 3 ');
  });

  it('takes nothing but hosts and ports', () => {
    assert.throws(() => findHost(crypto, '', '', 22), sshError('bad-argument'));
    assert.throws(() => findHost(crypto, '', 'a', 0), sshError('bad-argument'));
  });
});

describe('removeHost', () => {
  it('takes whole lines of the host out, at that port, and leaves every other byte', () => {
    const kept = [
      '\ufeff# comment\r\n',
      '\n',
      `  b.example\t${line('ed25519')} \t comment \r\n`,
      `[a.example]:2222 ${line('ed25519')}\n`,
      `@revoked a.example ${line('rsa3072')}\n`,
      `@cert-authority a.example ${line('rsa3072')}\n`,
      'a.example nonsense\n',
      '@what a.example x y\n',
    ];
    const gone = [`A.Example,10.0.0.1 ${line('ed25519')}\r\n`, `* ${line('rsa3072')} x\n`, `a.example ssh-new AAAA`];
    const text = [kept[0], gone[0], ...kept.slice(1, 4), gone[1], ...kept.slice(4), gone[2]].join('');
    const { text: rest, removed } = removeHost(crypto, text, 'a.EXAMPLE', 22);
    assert.equal(rest, kept.join(''));
    assert.deepEqual(removed, [2, 6, 11]);
    assert.deepEqual(removeHost(crypto, rest, 'a.example', 22), { text: rest, removed: [] });
  });
});

describe('hashHosts', () => {
  it('gives each name of a line a hash of its own, and leaves what cannot be hashed', () => {
    const left = [
      '# comment\r\n',
      `*.example,b.example ${line('ed25519')}\n`,
      `!c.example ${line('ed25519')}\n`,
      `@revoked d.example ${line('ed25519')}\n`,
      'nonsense\n',
    ];
    const text = `${left.join('')}E.example,[f.example]:2222  ${line('rsa3072')} a  comment`;
    const hashed = hashHosts(crypto, text);
    assert.deepEqual(hashed.left, [2, 3, 4]);
    assert.ok(hashed.text.startsWith(left.join('')));
    const [first = '', second = '', ...more] = hashed.text.slice(left.join('').length).split('\n');
    assert.deepEqual(more, []);
    for (const each of [first, second]) {
      assert.match(each, /^\|1\|[\w+/=]{28}\|[\w+/=]{28} /);
      assert.ok(each.endsWith(` ${line('rsa3072')} a  comment`));
    }
    const { entries } = parseKnownHosts(hashed.text);
    const lines = (host: string, port: number) => matchKnownHosts(crypto, entries, host, port).map((each) => each.line);
    assert.deepEqual(lines('e.example', 22), [2, 6]);
    assert.deepEqual(lines('f.example', 2222), [7]);
    // what is hashed stays as it is
    assert.equal(hashHosts(crypto, hashed.text).text, hashed.text);
  });
});

describe('addHost', () => {
  it('puts a line at the end, on a line of its own', () => {
    const key = publicBlob('ed25519');
    assert.equal(addHost(undefined, 'A.example', 22, key), `a.example ${line('ed25519')}\n`);
    assert.equal(addHost('x', 'a.example', 2222, key), `x\n[a.example]:2222 ${line('ed25519')}\n`);
    assert.equal(addHost('x\n', 'a.example', 22, key), `x\na.example ${line('ed25519')}\n`);
    assert.match(addHost('', 'a.example', 22, key, crypto), /^\|1\|/);
    assert.throws(() => addHost('', '*', 22, key), sshError('bad-argument'));
  });
});

describe('replaceKeys', () => {
  const blobs = (...names: string[]): Uint8Array[] => names.map(publicBlob);
  const change = (used: string, all: string[], added: string[]): KeyReplacement => ({
    used: publicBlob(used),
    all: blobs(...all),
    added: blobs(...added),
  });
  const replace = (text: string, what: KeyReplacement, port = 22) => replaceKeys(crypto, text, 'a.example', port, what);

  it('adds what is new behind all else, and takes out what the host has no more', () => {
    const text = `# c\r\na.example ${line('ed25519')} mine\r\n\na.example ${line('rsa1024')}\nb.example ${line('rsa1024')}`;
    assert.equal(
      replace(text, change('ed25519', ['ed25519', 'ecdsa256', 'rsa3072'], ['ecdsa256', 'rsa3072'])),
      `# c\r\na.example ${line('ed25519')} mine\r\n\nb.example ${line('rsa1024')}\n` +
        `a.example ${line('ecdsa256')}\na.example ${line('rsa3072')}\n`,
    );
  });

  it('changes nothing where all is as it should be', () => {
    const text = `a.example ${line('ed25519')}\na.example ${line('rsa3072')}`;
    assert.equal(replace(text, change('ed25519', ['ed25519', 'rsa3072'], [])), undefined);
    assert.equal(replace(text, change('ed25519', ['ed25519', 'rsa3072'], ['rsa3072'])), undefined);
  });

  it('never takes out the key that was used, though it is not told', () => {
    assert.equal(replace(`a.example ${line('ed25519')}\n`, change('ed25519', ['rsa3072'], [])), undefined);
  });

  it('changes nothing unless a line that names the host itself has the used key', () => {
    const what = change('ed25519', ['ed25519', 'rsa3072'], ['rsa3072']);
    const other = `a.example ${line('rsa1024')}\n`;
    for (const text of [
      '',
      other,
      `${other}*.example ${line('ed25519')}\n`,
      `${other}a.example,!b.example ${line('ed25519')}\n`,
      `${other}@cert-authority a.example ${line('ed25519')}\n`,
      `${other}@revoked a.example ${line('ed25519')}\n`,
      `${other}[a.example]:2222 ${line('ed25519')}\n`,
      `${other}b.example ${line('ed25519')}\n`,
    ]) {
      assert.equal(replace(text, what), undefined, text);
    }
    // at another port the plain name is not enough either
    assert.equal(replace(`a.example ${line('ed25519')}\n`, what, 2222), undefined);
    assert.equal(
      replace(`[a.example]:2222 ${line('ed25519')}\n`, what, 2222),
      `[a.example]:2222 ${line('ed25519')}\n[a.example]:2222 ${line('rsa3072')}\n`,
    );
  });

  it('leaves lines of other hosts, patterns, authorities and revocations', () => {
    const text = [
      `a.example ${line('ed25519')}`,
      `*.example ${line('rsa1024')}`,
      `@revoked a.example ${line('rsa1024')}`,
      `@cert-authority a.example ${line('rsa1024')}`,
      `[a.example]:2222 ${line('rsa1024')}`,
      'a.example ssh-new AAAAB3NzaC1uZXc=',
      '',
    ].join('\n');
    assert.equal(replace(text, change('ed25519', ['ed25519'], [])), undefined);
  });

  it('takes only the one name off a line that has others', () => {
    const text = `a.example ${line('ed25519')}\nb.example,A.Example,10.0.0.1 ${line('rsa1024')} c\n`;
    assert.equal(
      replace(text, change('ed25519', ['ed25519'], [])),
      `a.example ${line('ed25519')}\nb.example,10.0.0.1 ${line('rsa1024')} c\n`,
    );
  });

  it('hashes new names where those of the host are hashed', () => {
    const text = addHost('', 'a.example', 22, publicBlob('ed25519'), crypto);
    const stale = addHost(text, 'a.example', 22, publicBlob('rsa1024'), crypto);
    const changed = replace(stale, change('ed25519', ['ed25519', 'rsa3072'], ['rsa3072'])) ?? '';
    assert.ok(changed.startsWith(text));
    const added = changed.slice(text.length);
    assert.match(added, /^\|1\|[^ ]+ ssh-rsa [^\n]+\n$/);
    assert.equal(matchKnownHosts(crypto, parseKnownHosts(changed).entries, 'a.example', 22).length, 2);
  });
});
