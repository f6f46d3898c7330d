"""An SFTP server made with paramiko: keys, and the whole file system. The one argument is a JSON object: see paramiko.ts."""

import json
import os
import socket
import sys
import threading

import paramiko
from paramiko import SFTP_OK, SFTPAttributes, SFTPHandle, SFTPServer, SFTPServerInterface

plan = json.loads(sys.argv[1])
authorized = {line.split()[1] for line in plan["authorizedKeys"].splitlines()}
loaders = {"ed25519": paramiko.Ed25519Key, "rsa": paramiko.RSAKey}
host_keys = [loaders.get(name, paramiko.ECDSAKey)(filename=path) for name, path in plan["hostKeys"]]


class Logins(paramiko.ServerInterface):
    def get_allowed_auths(self, username):
        return "publickey"

    def check_auth_publickey(self, username, key):
        known = username == plan["username"] and key.get_base64() in authorized
        return paramiko.AUTH_SUCCESSFUL if known else paramiko.AUTH_FAILED

    def check_channel_request(self, kind, number):
        if kind == "session":
            return paramiko.OPEN_SUCCEEDED
        return paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED


def coded(work):
    """What `work` returns, or the status for the error that it raises."""
    try:
        result = work()
        return SFTP_OK if result is None else result
    except OSError as error:
        return SFTPServer.convert_errno(error.errno)


class File(SFTPHandle):
    def __init__(self, descriptor, flags):
        super().__init__(flags)
        mode = "r+b" if flags & os.O_RDWR else "wb" if flags & os.O_WRONLY else "rb"
        self.readfile = self.writefile = os.fdopen(descriptor, mode)

    def stat(self):
        self.writefile.flush()
        return SFTPAttributes.from_stat(os.fstat(self.readfile.fileno()))


def entry(folder, name):
    attributes = SFTPAttributes.from_stat(os.lstat(os.path.join(folder, name)))
    attributes.filename = name
    return attributes


class Files(SFTPServerInterface):
    def list_folder(self, path):
        return coded(lambda: [entry(path, name) for name in os.listdir(path)])

    def stat(self, path):
        return coded(lambda: SFTPAttributes.from_stat(os.stat(path)))

    def lstat(self, path):
        return coded(lambda: SFTPAttributes.from_stat(os.lstat(path)))

    def open(self, path, flags, attributes):
        return coded(lambda: File(os.open(path, flags, 0o666), flags))

    def remove(self, path):
        return coded(lambda: os.remove(path))

    def rename(self, old, new):
        return coded(lambda: os.rename(old, new))

    def mkdir(self, path, attributes):
        return coded(lambda: os.mkdir(path))

    def rmdir(self, path):
        return coded(lambda: os.rmdir(path))

    def symlink(self, target_path, path):
        return coded(lambda: os.symlink(target_path, path))

    def readlink(self, path):
        return coded(lambda: os.readlink(path))


def serve(connection):
    transport = paramiko.Transport(connection)
    for key in host_keys:
        transport.add_server_key(key)
    transport.set_subsystem_handler("sftp", SFTPServer, Files)
    try:
        transport.start_server(server=Logins())
    except (paramiko.SSHException, EOFError):
        pass  # whoever only looks at the identification


listener = socket.create_server(("127.0.0.1", plan["port"]))
while True:
    accepted, _ = listener.accept()
    threading.Thread(target=serve, args=(accepted,), daemon=True).start()
