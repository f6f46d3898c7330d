"""An SSH server made with asyncssh: keys, optionally a password, commands, and SFTP over the whole file system.

The one argument is a JSON object: see asyncssh.ts. Commands run in a shell as the user who runs the tests.
"""

import asyncio
import json
import sys

import asyncssh

plan = json.loads(sys.argv[1])


class Server(asyncssh.SSHServer):
    def begin_auth(self, username):
        return True

    def password_auth_supported(self):
        return plan["password"] is not None

    def validate_password(self, username, password):
        return username == plan["username"] and password == plan["password"]


async def pump(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def feed(process, child):
    try:
        await pump(process.stdin, child.stdin)
    except (asyncssh.Error, ConnectionError):
        pass  # the command does not read it all, or the session is over
    child.stdin.close()


async def run(process):
    # Not process.redirect(): it sends EOF when the command's output ends, and after an EOF in both directions asyncssh
    # closes the channel, often before the exit status is on its way.
    if process.command is None:
        process.stderr.write(b"only commands are served\n")
        process.exit(1)
        return
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_shell(process.command, stdin=pipe, stdout=pipe, stderr=pipe)
    feeding = asyncio.create_task(feed(process, child))
    try:
        await asyncio.gather(pump(child.stdout, process.stdout), pump(child.stderr, process.stderr))
        process.exit(await child.wait())
    except (asyncssh.Error, ConnectionError):
        child.kill()
    feeding.cancel()


async def main():
    authorized = asyncssh.import_authorized_keys(plan["authorizedKeys"])
    await asyncssh.create_server(
        Server,
        "127.0.0.1",
        plan["port"],
        server_host_keys=plan["hostKeys"],
        authorized_client_keys=authorized,
        process_factory=run,
        encoding=None,
        sftp_factory=True,
        **plan["server"],
    )
    await asyncio.Future()


asyncio.run(main())
