"""A client made with asyncssh: does what the JSON in its only argument says, and answers with JSON: see asyncssh.ts."""

import asyncio
import json
import sys

import asyncssh


async def do(connection, sftp, step):
    what = step['do']
    if what == 'run':
        result = await connection.run(step['command'], encoding=None)
        return {
            'code': result.exit_status,
            'stdout': result.stdout.decode('latin-1'),
            'stderr': result.stderr.decode('latin-1'),
        }
    if what == 'signal':
        process = await connection.create_process(step['command'])
        await process.stdout.readline()
        process.send_signal(step['signal'])
        result = await process.wait()
        return {'signal': result.exit_signal, 'status': result.exit_status}
    if what == 'list':
        return await sftp.listdir(step['remote'])
    if what == 'get':
        return await sftp.get(step['remote'], step['local'])
    if what == 'put':
        return await sftp.put(step['local'], step['remote'])
    if what == 'rename':
        return await sftp.rename(step['remote'], step['to'])
    return await getattr(sftp, what)(step['remote'])


class Client(asyncssh.SSHClient):
    def __init__(self, plan, asked):
        self.answers = plan.get('answers', [])
        self.asked = asked

    def auth_banner_received(self, message, language):
        self.asked.append('banner ' + message)

    def kbdint_auth_requested(self):
        return '' if self.answers else None

    def kbdint_challenge_received(self, name, instructions, language, prompts):
        self.asked.append([name, instructions, [list(prompt) for prompt in prompts]])
        return self.answers.pop(0) if prompts else []


async def main():
    plan = json.loads(sys.argv[1])
    asked = []
    options = {
        'known_hosts': plan['knownHosts'],
        'config': None,
        'agent_path': None,
        'client_keys': plan.get('keys') or None,
        'client_factory': lambda: Client(plan, asked),
    }
    if 'password' in plan:
        options['password'] = plan['password']
    options.update(plan.get('options', {}))
    results = []
    async with asyncssh.connect('127.0.0.1', plan['port'], username=plan['username'], **options) as connection:
        wants_files = any(step['do'] not in ('run', 'signal') for step in plan['steps'])
        sftp = await connection.start_sftp_client() if wants_files else None
        for step in plan['steps']:
            results.append(await do(connection, sftp, step))
    json.dump({'results': results, 'asked': asked}, sys.stdout)


try:
    asyncio.run(main())
except (asyncssh.Error, OSError) as error:
    sys.exit(f'{type(error).__name__}: {error}')
