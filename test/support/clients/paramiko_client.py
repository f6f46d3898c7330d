"""A client made with paramiko: does what the JSON in its only argument says, and answers with JSON: see paramiko.ts."""

import json
import os
import sys

import paramiko


def answer(channel):
    stdout, stderr = channel.makefile('rb').read(), channel.makefile_stderr('rb').read()
    code = channel.recv_exit_status()
    return {'code': code, 'stdout': stdout.decode('latin-1'), 'stderr': stderr.decode('latin-1')}


def do(transport, sftp, step):
    what = step['do']
    if what == 'run':
        channel = transport.open_session()
        channel.exec_command(step['command'])
        return answer(channel)
    if what == 'list':
        return sftp.listdir(step['remote'])
    if what == 'get':
        return sftp.get(step['remote'], step['local'])
    if what == 'put':
        # paramiko asks for the size afterwards and compares
        return sftp.put(step['local'], step['remote']).st_size
    if what == 'reget':
        with sftp.open(step['remote'], 'rb') as source, open(step['local'], 'ab') as target:
            source.seek(target.tell())
            source.prefetch()
            target.write(source.read())
        return None
    if what == 'reput':
        with open(step['local'], 'rb') as source, sftp.open(step['remote'], 'ab') as target:
            target.set_pipelined(True)
            source.seek(target.stat().st_size)
            target.write(source.read())
        return None
    if what == 'rename':
        return sftp.rename(step['remote'], step['to'])
    return getattr(sftp, what)(step['remote'])


def log_in(transport, plan, asked):
    """Methods in order, each of which has to be partial success until the last."""
    username = plan['username']
    for path in plan.get('keys', []):
        transport.auth_publickey(username, paramiko.Ed25519Key(filename=path))
        # the next method forgets it
        banner = transport.get_banner()
        if banner is not None:
            asked.append('banner ' + banner.decode())
    if 'password' in plan:
        transport.auth_password(username, plan['password'], fallback=False)
    answers = list(plan.get('answers', []))

    def handler(title, instructions, prompts):
        asked.append([title, instructions, [list(prompt) for prompt in prompts]])
        return answers.pop(0) if prompts else []

    if answers:
        transport.auth_interactive(username, handler)


def main():
    plan = json.loads(sys.argv[1])
    asked = []
    hosts = paramiko.HostKeys(plan['knownHosts'])
    transport = paramiko.Transport(('127.0.0.1', plan['port']))
    try:
        transport.start_client(timeout=30)
        if not hosts.check(f"[127.0.0.1]:{plan['port']}", transport.get_remote_server_key()):
            raise paramiko.SSHException('the host key is another one')
        log_in(transport, plan, asked)
        wants_files = any(step['do'] != 'run' for step in plan['steps'])
        sftp = paramiko.SFTPClient.from_transport(transport) if wants_files else None
        results = [do(transport, sftp, step) for step in plan['steps']]
    finally:
        transport.close()
    json.dump({'results': results, 'asked': asked}, sys.stdout)


try:
    main()
except (paramiko.SSHException, OSError) as error:
    sys.exit(f'{type(error).__name__}: {error}')
