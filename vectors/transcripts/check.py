"""
Reads the transcripts in this folder as a third party and proves what stands in them: `python3 vectors/transcripts/check.py`,
with the package `cryptography` (OpenSSL underneath), 48 or later for ML-KEM. Names of files may follow; without any it takes all. The exit code is 0
only if everything is right.

Written from the texts of RFC 4251 §5, RFC 4252 §7, RFC 4253 §4-8, RFC 4344 §4, RFC 5647 §7, RFC 5656 §3-4, RFC 6668, RFC 8332,
RFC 8709, RFC 8731, draft-ietf-sshm-mlkem-hybrid-kex, and OpenSSH's PROTOCOL (§1.5, §1.6, §1.9) and PROTOCOL.chacha20poly1305. Shares no code with puressh, and no
library either.

From the secrets that both sides drew and the bytes on the line alone it gets: the algorithms, both public values, the shared
secret (from either side), the exchange hash, the session id, the keys, every payload with its sequence number, and the padding.
It verifies every MAC and tag, the host key's signature over each exchange hash, and each user's signature.
"""

import hashlib
import hmac
import json
import pathlib
import struct
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mlkem, padding, rsa, utils, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.poly1305 import Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HERE = pathlib.Path(__file__).parent

# name: (key bytes, IV bytes)
CIPHERS = {
    "chacha20-poly1305@openssh.com": (64, 0),
    "aes128-gcm@openssh.com": (16, 12),
    "aes256-gcm@openssh.com": (32, 12),
    "aes128-ctr": (16, 16),
    "aes192-ctr": (24, 16),
    "aes256-ctr": (32, 16),
}
# name: (hash, key and MAC bytes, encrypt-then-MAC)
MACS = {
    "hmac-sha2-256": ("sha256", 32, False),
    "hmac-sha2-512": ("sha512", 64, False),
    "hmac-sha2-256-etm@openssh.com": ("sha256", 32, True),
    "hmac-sha2-512-etm@openssh.com": ("sha512", 64, True),
}
CURVES = {
    "nistp256": (ec.SECP256R1(), hashes.SHA256()),
    "nistp384": (ec.SECP384R1(), hashes.SHA384()),
    "nistp521": (ec.SECP521R1(), hashes.SHA512()),
}
# name: (curve, or None for X25519, and hash)
KEX = {
    "mlkem768x25519-sha256": (None, "sha256"),
    "curve25519-sha256": (None, "sha256"),
    "curve25519-sha256@libssh.org": (None, "sha256"),
    "ecdh-sha2-nistp256": ("nistp256", "sha256"),
    "ecdh-sha2-nistp384": ("nistp384", "sha384"),
    "ecdh-sha2-nistp521": ("nistp521", "sha512"),
}
# Of a hybrid method: bytes of ML-KEM in a client's and in a server's value.
HYBRID = {"mlkem768x25519-sha256": (1184, 1088)}
MARKERS = ("ext-info-c", "ext-info-s", "kex-strict-c-v00@openssh.com", "kex-strict-s-v00@openssh.com")
# Padding is cut from pools of this size; what is left of one and too short for a packet is dropped.
POOL = 4096

KEXINIT, NEWKEYS, KEX_INIT, KEX_REPLY, USERAUTH_REQUEST = 20, 21, 30, 31, 50
MESSAGES = {
    1: "SSH_MSG_DISCONNECT",
    2: "SSH_MSG_IGNORE",
    5: "SSH_MSG_SERVICE_REQUEST",
    6: "SSH_MSG_SERVICE_ACCEPT",
    7: "SSH_MSG_EXT_INFO",
    20: "SSH_MSG_KEXINIT",
    21: "SSH_MSG_NEWKEYS",
    30: "SSH_MSG_KEX_ECDH_INIT",
    31: "SSH_MSG_KEX_ECDH_REPLY",
    50: "SSH_MSG_USERAUTH_REQUEST",
    51: "SSH_MSG_USERAUTH_FAILURE",
    52: "SSH_MSG_USERAUTH_SUCCESS",
    53: "SSH_MSG_USERAUTH_BANNER",
    61: "SSH_MSG_USERAUTH_INFO_RESPONSE",
    80: "SSH_MSG_GLOBAL_REQUEST",
    81: "SSH_MSG_REQUEST_SUCCESS",
    82: "SSH_MSG_REQUEST_FAILURE",
    90: "SSH_MSG_CHANNEL_OPEN",
    91: "SSH_MSG_CHANNEL_OPEN_CONFIRMATION",
    92: "SSH_MSG_CHANNEL_OPEN_FAILURE",
    93: "SSH_MSG_CHANNEL_WINDOW_ADJUST",
    94: "SSH_MSG_CHANNEL_DATA",
    95: "SSH_MSG_CHANNEL_EXTENDED_DATA",
    96: "SSH_MSG_CHANNEL_EOF",
    97: "SSH_MSG_CHANNEL_CLOSE",
    98: "SSH_MSG_CHANNEL_REQUEST",
    99: "SSH_MSG_CHANNEL_SUCCESS",
    100: "SSH_MSG_CHANNEL_FAILURE",
}
# RFC 4252 §6: 60 means what the method says
REPLY_60 = {
    b"publickey": "SSH_MSG_USERAUTH_PK_OK",
    b"password": "SSH_MSG_USERAUTH_PASSWD_CHANGEREQ",
    b"keyboard-interactive": "SSH_MSG_USERAUTH_INFO_REQUEST",
}


def same(what, found, expected):
    if found != expected:
        show = lambda value: value.hex() if isinstance(value, bytes) else repr(value)
        raise ValueError(f"{what}: {show(found)} here, {show(expected)} in the transcript")


def uint32(value):
    return struct.pack(">I", value)


def string(value):
    return uint32(len(value)) + value


def mpint(raw):
    value = int.from_bytes(raw, "big")
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big") if value else b"")


class Fields:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def raw(self, count):
        assert self.at + count <= len(self.data), "fields run past their end"
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.raw(1)[0]

    def string(self):
        return self.raw(struct.unpack(">I", self.raw(4))[0])

    def names(self):
        return self.string().decode("ascii").split(",")


class Random:
    """What one side draws: SHA-256(SHA-256(seed) || uint64 block number), block after block, cut at the given lengths."""

    def __init__(self, seed, draws):
        key = hashlib.sha256(seed.encode()).digest()
        count = sum(draws) // 32 + 1
        stream = b"".join(hashlib.sha256(key + struct.pack(">Q", n)).digest() for n in range(count))
        self.draws, at = [], 0
        for length in draws:
            self.draws.append(stream[at : at + length])
            at += length
        self.pools = [draw for draw in self.draws if len(draw) == POOL]
        self.others = [draw for draw in self.draws if len(draw) != POOL]
        self.pool = b""

    def padding(self, count):
        if count > len(self.pool):
            self.pool = self.pools.pop(0)
        taken, self.pool = self.pool[:count], self.pool[count:]
        return taken


# Keys and signatures


def public_key(blob):
    fields = Fields(blob)
    kind = fields.string().decode("ascii")
    if kind == "ssh-ed25519":
        return ed25519.Ed25519PublicKey.from_public_bytes(fields.string())
    if kind == "ssh-rsa":
        exponent, modulus = (int.from_bytes(fields.string(), "big") for _ in range(2))
        return rsa.RSAPublicNumbers(exponent, modulus).public_key()
    curve, _ = CURVES[fields.string().decode("ascii")]
    return ec.EllipticCurvePublicKey.from_encoded_point(curve, fields.string())


def verify(blob, signature, message, algorithm):
    """Raises InvalidSignature unless `signature` is one of `message`, by the key and the algorithm."""
    fields = Fields(signature)
    same("signature algorithm", fields.string().decode("ascii"), algorithm)
    body, key = fields.string(), public_key(blob)
    if algorithm == "ssh-ed25519":
        key.verify(body, message)
    elif algorithm.startswith("rsa-"):
        hash_ = hashes.SHA512() if algorithm.endswith("512") else hashes.SHA256()
        key.verify(body, message, padding.PKCS1v15(), hash_)
    else:
        halves = Fields(body)
        r, s = (int.from_bytes(halves.string(), "big") for _ in range(2))
        key.verify(utils.encode_dss_signature(r, s), message, ec.ECDSA(CURVES[algorithm[-8:]][1]))


def agree(curve, secret, peer):
    """The public value of `secret`, and what it shares with the owner of `peer`."""
    if curve is None:
        key = x25519.X25519PrivateKey.from_private_bytes(secret)
        public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return public, key.exchange(x25519.X25519PublicKey.from_public_bytes(peer))
    key = ec.derive_private_key(int.from_bytes(secret, "big"), CURVES[curve][0])
    public = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return public, key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVES[curve][0], peer))


def derive(hash_, secret, exchange_hash, session_id, letter, size):
    key = hashlib.new(hash_, secret + exchange_hash + letter.encode() + session_id).digest()
    while len(key) < size:
        key += hashlib.new(hash_, secret + exchange_hash + key).digest()
    return key[:size]


# Packets: `open` takes a packet off the front of a buffer and gives (body, rest), or None while it is not whole


class Plain:
    def open(self, _sequence, data):
        if len(data) < 4:
            return None
        end = 4 + struct.unpack(">I", data[:4])[0]
        return (data[4:end], data[end:]) if len(data) >= end else None


class ChaCha:
    def __init__(self, key):
        self.main, self.header = key[:32], key[32:]

    @staticmethod
    def stream(key, counter, sequence, data):
        nonce = struct.pack("<Q", counter) + struct.pack(">Q", sequence)
        return Cipher(algorithms.ChaCha20(key, nonce), None).encryptor().update(data)

    def open(self, sequence, data):
        if len(data) < 4:
            return None
        end = 4 + struct.unpack(">I", self.stream(self.header, 0, sequence, data[:4]))[0]
        if len(data) < end + 16:
            return None
        Poly1305.verify_tag(self.stream(self.main, 0, sequence, bytes(32)), data[:end], data[end : end + 16])
        return self.stream(self.main, 1, sequence, data[4:end]), data[end + 16 :]


class Gcm:
    def __init__(self, key, iv):
        self.aead, self.iv = AESGCM(key), iv

    def open(self, _sequence, data):
        if len(data) < 4:
            return None
        end = 4 + struct.unpack(">I", data[:4])[0] + 16
        if len(data) < end:
            return None
        body = self.aead.decrypt(self.iv, data[4:end], data[:4])
        fixed, counter = struct.unpack(">IQ", self.iv)
        self.iv = struct.pack(">IQ", fixed, (counter + 1) % 2**64)
        return body, data[end:]


class Ctr:
    def __init__(self, key, iv, mac, mac_key):
        self.decryptor = Cipher(algorithms.AES(key), modes.CTR(iv)).decryptor()
        (self.hash, self.size, self.etm), self.mac_key = MACS[mac], mac_key
        self.header = None

    def open(self, sequence, data):
        if len(data) < 4:
            return None
        if self.header is None:
            self.header = data[:4] if self.etm else self.decryptor.update(data[:4])
        end = 4 + struct.unpack(">I", self.header)[0]
        if len(data) < end + self.size:
            return None
        body = self.decryptor.update(data[4:end])
        covered = data[:end] if self.etm else self.header + body
        found = hmac.new(self.mac_key, uint32(sequence) + covered, self.hash).digest()
        same("MAC", found, data[end : end + self.size])
        self.header = None
        return body, data[end + self.size :]


def protection(cipher, mac, iv, key, mac_key):
    if cipher.startswith("chacha"):
        return ChaCha(key)
    return Gcm(key, iv) if "-gcm" in cipher else Ctr(key, iv, mac, mac_key)


# Sessions


class Side:
    def __init__(self, record):
        self.random = Random(**record["random"])
        self.cookies_and_secrets = self.random.others
        self.buffer, self.line, self.kexinit = b"", None, b""
        self.protection, self.next, self.sequence = Plain(), None, 0


class Session:
    def __init__(self, transcript):
        self.transcript = transcript
        self.sides = {name: Side(transcript[name]) for name in ("client", "server")}
        self.packets, self.exchanges, self.session_id, self.method = [], 0, None, b""

    def check(self):
        for step in self.transcript["steps"]:
            if "bytes" in step:
                self.hear(step["from"], bytes.fromhex(step["bytes"]))
        same("number of packets", len(self.packets), len(self.transcript["packets"]))
        same("number of exchanges", self.exchanges, len(self.transcript["exchanges"]))
        for name, side in self.sides.items():
            same(f"bytes left over from the {name}", side.buffer, b"")
            same(f"pools of the {name} that were not used", side.random.pools, [])
            same(f"draws of the {name} that were not used", side.cookies_and_secrets, [])

    def hear(self, name, data):
        side = self.sides[name]
        side.buffer += data
        if side.line is None:
            side.line, side.buffer = side.buffer.split(b"\r\n", 1)
        while True:
            opened = side.protection.open(side.sequence, side.buffer)
            if opened is None:
                return
            body, side.buffer = opened
            count = body[0]
            payload = body[1 : len(body) - count]
            self.packet(name, side, payload, body[len(body) - count :])

    def packet(self, name, side, payload, padding_):
        index, number = len(self.packets), payload[0]
        assert index < len(self.transcript["packets"]), "more packets than the transcript has"
        expected = self.transcript["packets"][index]
        about = f"packet {index}"
        same(f"{about}: from", name, expected["from"])
        same(f"{about}: sequence", side.sequence, expected["sequence"])
        same(f"{about}: payload", payload, bytes.fromhex(expected["payload"]))
        same(f"{about}: padding", padding_, side.random.padding(len(padding_)))
        assert len(padding_) >= 4, about
        if number == USERAUTH_REQUEST:
            self.login(payload)
        same(f"{about}: message", REPLY_60[self.method] if number == 60 else MESSAGES[number], expected["message"])
        self.packets.append(payload)
        side.sequence += 1
        if number == KEXINIT:
            side.kexinit = payload
            same("cookie", payload[1:17], side.cookies_and_secrets.pop(0))
        elif number == KEX_INIT:
            self.client_public = Fields(payload, 1).string()
        elif number == KEX_REPLY:
            self.exchange(payload)
        elif number == NEWKEYS:
            # strict key exchange: numbers begin anew
            side.protection, side.next, side.sequence = side.next, None, 0

    def negotiated(self):
        def lists(payload):
            fields = Fields(payload, 17)
            return [fields.names() for _ in range(8)]

        client, server = lists(self.sides["client"].kexinit), lists(self.sides["server"].kexinit)
        if self.exchanges == 0:
            assert MARKERS[2] in client[0] and MARKERS[3] in server[0], "strict key exchange"
        kex, host_key, cipher_up, cipher_down, mac_up, mac_down, _, _ = (
            next(name for name in ours if name in theirs and name not in MARKERS)
            for ours, theirs in zip(client, server)
        )
        directions = {"client": (cipher_up, mac_up, "ACE"), "server": (cipher_down, mac_down, "BDF")}
        found = {"kex": kex, "hostKey": host_key}
        for member, (cipher, mac, _) in zip(("toServer", "toClient"), directions.values()):
            found[member] = {"cipher": cipher, **({"mac": mac} if cipher.endswith("-ctr") else {}), "compression": "none"}
        same("algorithms", found, self.transcript["algorithms"])
        return kex, host_key, directions

    def exchange(self, payload):
        kex, algorithm, directions = self.negotiated()
        curve, hash_ = KEX[kex]
        fields = Fields(payload, 1)
        host_key, server_public, signature = (fields.string() for _ in range(3))
        record = self.transcript["exchanges"][self.exchanges]
        about = f"exchange {self.exchanges}"
        self.exchanges += 1

        client_value, server_value = self.client_public, server_public
        if kex in HYBRID:
            key_size, ciphertext_size = HYBRID[kex]
            seed = self.sides["client"].cookies_and_secrets.pop(0)
            same(f"{about}: bytes for a ciphertext", len(self.sides["server"].cookies_and_secrets.pop(0)), 32)
            key = mlkem.MLKEM768PrivateKey.from_seed_bytes(seed)
            same(f"{about}: key of ML-KEM", client_value[:key_size], key.public_key().public_bytes_raw())
            kem_shared = key.decapsulate(server_value[:ciphertext_size])
            same(f"{about}: secret of ML-KEM", kem_shared, bytes.fromhex(record["kemShared"]))
            client_value, server_value = client_value[key_size:], server_value[ciphertext_size:]

        secrets = {}
        for name, side in self.sides.items():
            drawn = side.cookies_and_secrets.pop(0)
            secrets[name] = bytes([drawn[0] & 1]) + drawn[1:] if curve == "nistp521" else drawn
            same(f"{about}: secret of the {name}", secrets[name], bytes.fromhex(record[f"{name}Secret"]))
        found, shared = agree(curve, secrets["client"], server_value)
        same(f"{about}: public value of the client", found, client_value)
        found, also = agree(curve, secrets["server"], client_value)
        same(f"{about}: public value of the server", found, server_value)
        same(f"{about}: shared secret", also, shared)
        same(f"{about}: shared secret", shared, bytes.fromhex(record["shared"]))

        client, server = self.sides["client"], self.sides["server"]
        inputs = (client.line, server.line, client.kexinit, server.kexinit, host_key, self.client_public, server_public)
        secret = mpint(shared)
        if kex in HYBRID:  # draft-ietf-sshm-mlkem-hybrid-kex §2.4
            secret = string(hashlib.new(hash_, kem_shared + shared).digest())
        exchange_hash = hashlib.new(hash_, b"".join(string(each) for each in inputs) + secret).digest()
        same(f"{about}: exchange hash", exchange_hash, bytes.fromhex(record["exchangeHash"]))
        self.session_id = self.session_id or exchange_hash
        same(f"{about}: session id", self.session_id, bytes.fromhex(self.transcript["sessionId"]))
        same(f"{about}: host key", host_key.hex(), self.transcript["server"]["keys"][0]["publicKey"])
        verify(host_key, signature, exchange_hash, algorithm)

        keys = {}
        for name, (cipher, mac, letters) in directions.items():
            key_size, iv_size = CIPHERS[cipher]
            sizes = (iv_size, key_size, MACS[mac][1] if cipher.endswith("-ctr") else 0)
            parts = [derive(hash_, secret, exchange_hash, self.session_id, *each) for each in zip(letters, sizes)]
            self.sides[name].next = protection(cipher, mac, *parts)
            keys.update({letter: part.hex() for letter, part in zip(letters, parts) if part})
        same(f"{about}: keys", keys, record["keys"])

    def login(self, payload):
        fields = Fields(payload, 1)
        fields.string(), fields.string()
        self.method = fields.string()
        if self.method != b"publickey" or fields.byte() == 0:
            return
        algorithm, blob = fields.string().decode("ascii"), fields.string()
        assert blob.hex() in [key["publicKey"] for key in self.transcript["client"]["keys"]], "a key that is not listed"
        signed = string(self.session_id) + payload[: fields.at]
        verify(blob, fields.string(), signed, algorithm)


def main():
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.json"))
    wrong = 0
    for path in paths:
        try:
            session = Session(json.loads(path.read_text(encoding="utf-8")))
            session.check()
            print(f"{path.name}: right, {session.exchanges} exchanges, {len(session.packets)} packets")
        except Exception as error:
            wrong += 1
            print(f"{path.name}: WRONG: {type(error).__name__} {error}")
    sys.exit(1 if wrong or not paths else 0)


main()
