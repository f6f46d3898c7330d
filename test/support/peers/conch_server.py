"""An SFTP server made with Twisted Conch: keys, and the whole file system. The one argument is a JSON object: see conch.ts.

Everything is done as whoever runs the tests, whereas Conch's own user for Unix wants to be root and to change into others.
"""

import json
import os
import sys

from twisted.conch import avatar, checkers, unix
from twisted.conch.interfaces import ISFTPServer
from twisted.conch.ssh import factory, filetransfer, keys, session
from twisted.cred import portal
from twisted.internet import reactor
from twisted.python import components, filepath

plan = json.loads(sys.argv[1])


class User(avatar.ConchUser):
    def __init__(self):
        super().__init__()
        self.channelLookup[b"session"] = session.SSHSession
        self.subsystemLookup[b"sftp"] = filetransfer.FileTransferServer

    def getUserGroupId(self):
        return os.getuid(), os.getgid()

    def getHomeDir(self):
        return filepath.FilePath("/")

    def _runAsUser(self, work, *args, **named):
        steps = work if hasattr(work, "__iter__") else [(work, args, named)]
        result = None
        for function, *rest in steps:
            result = function(*(rest[0] if rest else ()), **(rest[1] if len(rest) > 1 else {}))
        return result


components.registerAdapter(unix.SFTPServerForUnixConchUser, User, ISFTPServer)


class Realm:
    def requestAvatar(self, name, mind, *interfaces):
        return interfaces[0], User(), lambda: None


class Factory(factory.SSHFactory):
    offered = [keys.Key.fromFile(path) for _, path in plan["hostKeys"]]

    def getPublicKeys(self):
        return {key.sshType(): key.public() for key in self.offered}

    def getPrivateKeys(self):
        return {key.sshType(): key for key in self.offered}

    def getPrimes(self):
        return None


authorized = [keys.Key.fromString(line) for line in plan["authorizedKeys"].encode().splitlines()]
database = checkers.InMemorySSHKeyDB({plan["username"].encode(): authorized})
Factory.portal = portal.Portal(Realm(), [checkers.SSHPublicKeyChecker(database)])
reactor.listenTCP(plan["port"], Factory(), interface="127.0.0.1")
reactor.run()
