"""One task with Python's asyncssh, at its own defaults:

    python3 asyncssh_client.py get|put|get-tree|put-tree|list PORT USER KEY REMOTE LOCAL
"""

import asyncio
import sys

import asyncssh


async def main(work, port, user, key, remote, local):
    async with asyncssh.connect(
        "127.0.0.1", int(port), username=user, client_keys=[key], known_hosts=None, config=[]
    ) as connection:
        async with connection.start_sftp_client() as sftp:
            if work == "list":
                for name in await sftp.listdir(remote):
                    print(name)
            elif work.startswith("get"):
                await sftp.get(remote, local, recurse=work == "get-tree")
            else:
                await sftp.put(local, remote, recurse=work == "put-tree")


asyncio.run(main(*sys.argv[1:7]))
