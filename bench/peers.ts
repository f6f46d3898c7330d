/** The command lines of others, each at its own defaults unless its name says otherwise. */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { asyncsshPython } from '../test/support/peers/asyncssh.ts';
import { findProgram } from '../test/support/peers/peer.ts';
import { root } from '../test/support/root.ts';
import { type Job, type Missing, type Program, versionLine } from './program.ts';
import { knownHosts } from './stage.ts';

const AES_GCM = 'aes128-gcm@openssh.com';

export const SFTP = 'sftp, aes128-gcm';

const everything = ['get', 'put', 'get-tree', 'put-tree', 'list'] as const;

/** Whom this machine has, and whom it has not. */
export function peers(): { readonly programs: Program[]; readonly missing: Missing[] } {
  const missing: Missing[] = [];
  const withProgram = (name: string, from: string, make: (path: string) => Program[]): Program[] => {
    const path = findProgram(name);
    if (path === undefined) missing.push({ name, why: `there is no ${name}: apt-get install ${from}` });
    return path === undefined ? [] : make(path);
  };
  const python = asyncsshPython();
  if (python === undefined) {
    missing.push({ name: 'asyncssh', why: 'there is no Python with asyncssh: apt-get install python3-asyncssh' });
  }
  const programs = [
    ...withProgram('sftp', 'openssh-client', () => [sftp(SFTP, ['-c', AES_GCM]), sftp('sftp', [])]),
    script('ssh2', 'ssh2', 'ssh2_client.mjs', ''),
    script('ssh2, aes128-gcm', 'ssh2', 'ssh2_client.mjs', AES_GCM),
    script('ssh2-sftp-client', 'ssh2-sftp-client', 'ssh2_sftp_client.mjs', ''),
    ...(python === undefined ? [] : [asyncssh(python)]),
    ...withProgram('rclone', 'rclone', (path) => [rclone(path)]),
    ...withProgram('curl', 'curl', curl),
    ...withProgram('lftp', 'lftp', (path) => [lftp(path)]),
  ];
  if (programs.every(({ name }) => name !== 'curl') && missing.every(({ name }) => name !== 'curl')) {
    missing.push({ name: 'curl', why: 'it was built without SFTP' });
  }
  return { programs, missing };
}

function sftp(name: string, options: readonly string[]): Program {
  return {
    name,
    version: versionLine('/bin/sh', '-c', 'ssh -V 2>&1').split(',', 1)[0] as string,
    works: everything,
    invoke: ({ work, port, peer, remote, local }) => ({
      command: [
        ...['sftp', '-q', '-b', '-', '-F', '/dev/null', '-P', String(port), '-i', peer.keys.ed25519.openssh],
        ...['-o', `UserKnownHostsFile=${knownHosts(peer, port)}`, '-o', 'IdentitiesOnly=yes'],
        ...[...options, `${peer.username}@127.0.0.1`],
      ],
      input: {
        get: `get ${remote} ${local}\n`,
        put: `put ${local} ${remote}\n`,
        'get-tree': `get -r ${remote} ${local}\n`,
        'put-tree': `put -r ${local} ${remote}\n`,
        list: `ls -f ${remote}\n`,
      }[work],
    }),
  };
}

/** A program of ours that uses a package of others: `SCRIPT WORK PORT USER KEY REMOTE LOCAL CIPHER`. */
function script(name: string, packageName: string, file: string, cipher: string): Program {
  const path = fileURLToPath(new URL(`bench/${file}`, root));
  return {
    name,
    version: packageName === 'ssh2' ? ssh2Version() : versionOf(packageName),
    works: packageName === 'ssh2' ? ['get', 'put', 'list'] : everything,
    invoke: (job) => ({ command: [process.execPath, path, ...scriptArguments(job), cipher] }),
  };
}

function versionOf(packageName: string): string {
  const manifest = readFileSync(new URL(`bench/node_modules/${packageName}/package.json`, root), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** `ssh2` computes some of its cryptography in an addon in C++, where its install script was let run and could build it. */
export function ssh2Version(): string {
  const addon = new URL('bench/node_modules/ssh2/lib/protocol/crypto/build/Release/sshcrypto.node', root);
  return `${versionOf('ssh2')} ${existsSync(addon) ? 'with' : 'without'} its native addon`;
}

function scriptArguments({ work, port, peer, remote, local }: Job): string[] {
  return [work, String(port), peer.username, peer.keys.ed25519.openssh, remote, local];
}

function asyncssh(python: string): Program {
  const path = fileURLToPath(new URL('bench/asyncssh_client.py', root));
  return {
    name: 'asyncssh',
    version: versionLine(python, '-W', 'ignore', '-c', 'import asyncssh; print(asyncssh.__version__)'),
    works: everything,
    invoke: (job) => ({ command: [python, '-W', 'ignore', path, ...scriptArguments(job)] }),
  };
}

/** Without the checksums that it has a shell on the server compute, which no one else asks for. */
function rclone(program: string): Program {
  return {
    name: 'rclone',
    version: versionLine(program, 'version').replace('rclone ', ''),
    works: everything,
    invoke({ work, port, peer, remote, local }) {
      const options = { host: '127.0.0.1', port, user: peer.username, key_file: peer.keys.ed25519.openssh };
      const all = { ...options, known_hosts_file: knownHosts(peer, port), disable_hashcheck: true };
      const server = `:sftp,${Object.entries(all)
        .map(([key, value]) => `${key}=${value}`)
        .join(',')}:`;
      const words = {
        get: ['copyto', server + remote, local],
        put: ['copyto', local, server + remote],
        'get-tree': ['copy', server + remote, local],
        'put-tree': ['copy', local, server + remote],
        list: ['lsf', server + remote],
      }[work];
      return { command: [program, '--config', '/dev/null', ...words] };
    },
  };
}

/** Trusts any host key: its own known_hosts file is always the one in the home directory. */
function curl(program: string): Program[] {
  const version = versionLine(program, '--version');
  if (!/libssh/.test(version)) return [];
  return [
    {
      name: 'curl',
      version: `${/curl (\S+)/.exec(version)?.[1]} (${/libssh\S+/.exec(version)?.[0]})`,
      works: ['get', 'put', 'list'],
      invoke({ work, port, peer, remote, local }) {
        const key = peer.keys.ed25519.openssh;
        const url = `sftp://127.0.0.1:${port}${remote}`;
        const words = { get: [url, '-o', local], put: ['-T', local, url], list: ['-l', `${url}/`] };
        const login = ['--key', key, '--pubkey', `${key}.pub`, '-u', `${peer.username}:`];
        return { command: [program, '-q', '-s', '-S', '-k', ...login, ...words[work as keyof typeof words]] };
      },
    },
  ];
}

function lftp(program: string): Program {
  return {
    name: 'lftp',
    version: /Version (\S+)/.exec(versionLine(program, '--version'))?.[1] ?? '',
    works: everything,
    invoke({ work, port, peer, remote, local }) {
      const ssh = `ssh -a -x -F /dev/null -i ${peer.keys.ed25519.openssh} -o IdentitiesOnly=yes`;
      const connect = `set sftp:connect-program "${ssh} -o UserKnownHostsFile=${knownHosts(peer, port)}"`;
      const task = {
        get: `get ${remote} -o ${local}`,
        put: `put ${local} -o ${remote}`,
        'get-tree': `mirror ${remote} ${local}`,
        'put-tree': `mirror -R ${local} ${remote}`,
        list: `cls -1 ${remote}/`,
      }[work];
      const open = `open -u ${peer.username},none sftp://127.0.0.1:${port}`;
      const commands = `set cmd:fail-exit yes; set net:max-retries 1; ${connect}; ${open}; ${task}`;
      return { command: [program, '--norc', '-c', commands] };
    },
  };
}
