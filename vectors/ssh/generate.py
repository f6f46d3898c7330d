"""
Makes packets.json, keys.json and compression.json: `python3 vectors/ssh/generate.py`, with the package `cryptography` (OpenSSL underneath).

Written from the texts of RFC 4251 §5, RFC 4253 §6, §6.3, §7.2 and §8, RFC 2104 §5, RFC 4344 §4, RFC 5647 §7, RFC 6668, RFC 8731 §3.1, and OpenSSH's
PROTOCOL (§1.5 encrypt-then-MAC, §1.6 AES-GCM) and PROTOCOL.chacha20poly1305. Shares no code with puressh, and no library either.
Every input comes from SHA-256 of a label, so that running it again gives the same files.
"""

import hashlib
import hmac
import json
import pathlib
import struct
import zlib

import cryptography
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.poly1305 import Poly1305

HERE = pathlib.Path(__file__).parent

# name: (key bytes, IV bytes)
CIPHERS = {
    "chacha20-poly1305@openssh.com": (64, 0),
    "aes128-gcm@openssh.com": (16, 12),
    "aes256-gcm@openssh.com": (32, 12),
    "aes128-ctr": (16, 16),
    "aes192-ctr": (24, 16),
    "aes256-ctr": (32, 16),
    "aes128-cbc": (16, 16),
    "aes192-cbc": (24, 16),
    "aes256-cbc": (32, 16),
    "3des-cbc": (24, 8),
}
# name: (hash, key bytes, encrypt-then-MAC, MAC bytes)
MACS = {
    "hmac-sha2-256": ("sha256", 32, False, 32),
    "hmac-sha2-512": ("sha512", 64, False, 64),
    "hmac-sha2-256-etm@openssh.com": ("sha256", 32, True, 32),
    "hmac-sha2-512-etm@openssh.com": ("sha512", 64, True, 64),
    "hmac-sha1": ("sha1", 20, False, 20),
    "hmac-sha1-96": ("sha1", 20, False, 12),
    "hmac-sha1-etm@openssh.com": ("sha1", 20, True, 20),
    "hmac-sha1-96-etm@openssh.com": ("sha1", 20, True, 12),
    "hmac-md5": ("md5", 16, False, 16),
    "hmac-md5-96": ("md5", 16, False, 12),
    "hmac-md5-etm@openssh.com": ("md5", 16, True, 16),
    "hmac-md5-96-etm@openssh.com": ("md5", 16, True, 12),
}


def protections():
    for cipher in CIPHERS:
        if cipher.endswith(("-ctr", "-cbc")):
            for mac in MACS:
                yield cipher, mac
        else:
            yield cipher, None


def draw(label, count):
    """`count` bytes that depend on nothing but the label."""
    made = b""
    while len(made) < count:
        made += hashlib.sha256(f"{label} {len(made)}".encode()).digest()
    return made[:count]


def uint32(value):
    return struct.pack(">I", value)


def string(value):
    return uint32(len(value)) + value


def mpint(value):
    """RFC 4251 §5: two's complement, no superfluous leading bytes; `value` is an int that is not negative."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big") if value else b"")


# Packets


def padding_size(payload, block, length_counts):
    """
    RFC 4253 §6: at least 4, so that what is counted fills blocks and is at least 16 bytes long. Where packet_length travels
    outside the encryption it is not counted; the 16 bytes are then those of the rest.
    """
    counted = 1 + len(payload) + (4 if length_counts else 0)
    size = 4
    while (counted + size) % block != 0 or counted + size < 16:
        size += 1
    return size


class Protection:
    """One direction. `seal` is called once per packet, in order."""

    def __init__(self, cipher, mac, key, iv, mac_key):
        self.cipher, self.mac, self.key, self.iv, self.mac_key = cipher, mac, key, iv, mac_key
        if cipher.endswith("-ctr"):
            self.encryptor = Cipher(algorithms.AES(key), modes.CTR(iv)).encryptor()
        if cipher.endswith("-cbc"):
            block_cipher = algorithms.TripleDES(key) if cipher == "3des-cbc" else algorithms.AES(key)
            self.encryptor = Cipher(block_cipher, modes.CBC(iv)).encryptor()
        self.block = 8 if cipher.startswith(("chacha", "3des")) else 16
        self.length_counts = mac is not None and not MACS[mac][2]

    def pad(self, payload, label):
        return draw(label, padding_size(payload, self.block, self.length_counts))

    def digest(self, *parts):
        whole = hmac.new(self.mac_key, b"".join(parts), MACS[self.mac][0]).digest()
        return whole[: MACS[self.mac][3]]

    def seal(self, sequence, payload, padding):
        body = bytes([len(padding)]) + payload + padding
        length = uint32(len(body))
        if self.cipher.startswith("chacha"):
            return self.chacha(sequence, length, body)
        if "-gcm" in self.cipher:
            return self.gcm(length, body)
        if MACS[self.mac][2]:
            sealed = self.encryptor.update(body)
            return length + sealed + self.digest(uint32(sequence), length, sealed)
        return self.encryptor.update(length + body) + self.digest(uint32(sequence), length, body)

    def chacha(self, sequence, length, body):
        """K_2 (the first half) for the packet, K_1 (the second) for the length; the nonce is the sequence number as uint64."""
        nonce = struct.pack(">Q", sequence)

        def stream(key, counter, data):
            whole = struct.pack("<Q", counter) + nonce
            return Cipher(algorithms.ChaCha20(key, whole), None).encryptor().update(data)

        main, header = self.key[:32], self.key[32:]
        poly_key = stream(main, 0, bytes(32))
        sealed = stream(header, 0, length) + stream(main, 1, body)
        return sealed + Poly1305.generate_tag(poly_key, sealed)

    def gcm(self, length, body):
        sealed = AESGCM(self.key).encrypt(self.iv, body, length)
        fixed, counter = struct.unpack(">IQ", self.iv)
        self.iv = struct.pack(">IQ", fixed, (counter + 1) % 2**64)
        return length + sealed


def name_of(cipher, mac):
    return cipher if mac is None else f"{cipher} with {mac}"


def packet_rows():
    for cipher, mac in protections():
        name = name_of(cipher, mac)
        key_size, iv_size = CIPHERS[cipher]
        key = draw(f"{name} key", key_size)
        # the last bytes make every counter carry within the three packets
        iv = draw(f"{name} iv", iv_size)[: max(0, iv_size - 6)] + bytes.fromhex("fffffffffffe")[: min(6, iv_size)]
        mac_key = draw(f"{name} mac", MACS[mac][1]) if mac else b""
        protection = Protection(cipher, mac, key, iv, mac_key)
        packets = []
        # sequence numbers across the end of uint32 (RFC 4253 §6.4)
        for sequence, size in ((0xFFFFFFFE, 1), (0xFFFFFFFF, 22), (0, 70)):
            payload = bytes([21]) if size == 1 else draw(f"{name} payload {size}", size)
            padding = protection.pad(payload, f"{name} padding {size}")
            packets.append(
                {
                    "sequence": sequence,
                    "payload": payload.hex(),
                    "padding": padding.hex(),
                    "sealed": protection.seal(sequence, payload, padding).hex(),
                }
            )
        yield {
            "name": name,
            "cipher": cipher,
            "mac": mac,
            "key": key.hex(),
            "iv": iv.hex(),
            "macKey": mac_key.hex(),
            "packets": packets,
        }


# Keys

HASHES = ("sha1", "sha256", "sha384", "sha512")
LETTERS = "ABCDEF"
MATERIAL = 200  # more than three digests of SHA-512, the longest

SECRETS = {
    "ordinary": draw("ordinary", 31).rjust(32, b"\x5a"),
    "top bit set": b"\x80" + draw("top bit", 31),
    "one leading zero byte": b"\x00\x7f" + draw("one zero", 30),
    "one leading zero byte, then the top bit": b"\x00\xff" + draw("one zero, top bit", 30),
    "three leading zero bytes": bytes(3) + b"\x01" + draw("three zeros", 28),
    "66 bytes that start with zero": b"\x00" + b"\x01" + draw("p521", 64),
    "one byte": bytes(31) + b"\x01",
}


def secret_rows():
    for name, raw in SECRETS.items():
        yield {
            "name": name,
            "shared": raw.hex(),
            "mpint": mpint(int.from_bytes(raw, "big")).hex(),
            "string": string(raw).hex(),
        }


def encoded(raw, form):
    return mpint(int.from_bytes(raw, "big")) if form == "mpint" else string(raw)


EXCHANGE_INPUTS = {
    "clientIdentification": b"SSH-2.0-client_1.0 of the vectors",
    "serverIdentification": b"SSH-2.0-server_2.0",
    "clientKexinit": bytes([20]) + draw("client kexinit", 300),
    "serverKexinit": bytes([20]) + draw("server kexinit", 5000),
    "hostKey": string(b"ssh-ed25519") + string(draw("host key", 32)),
    "clientPublic": draw("client public", 32),
    "serverPublic": b"\x04" + draw("server public", 64),
}


def exchange_rows():
    """RFC 4253 §8 with Q_C and Q_S in place of e and f (RFC 5656 §4, RFC 8731 §3.1): both are strings."""
    head = b"".join(string(part) for part in EXCHANGE_INPUTS.values())
    for algorithm in HASHES:
        for name, raw in SECRETS.items():
            for form in ("mpint", "string"):
                yield {
                    "name": f"{algorithm}, {name}, {form}",
                    "hash": algorithm,
                    "shared": raw.hex(),
                    "secretAs": form,
                    "exchangeHash": hashlib.new(algorithm, head + encoded(raw, form)).hexdigest(),
                }


def group_exchange_rows():
    """RFC 4419 §3: the sizes, p, g, e and f stand between the host key and K; clients older than it send one size."""
    lines = b"".join(string(EXCHANGE_INPUTS[name]) for name in list(EXCHANGE_INPUTS)[:5])
    for algorithm in ("sha1", "sha256"):
        for sizes in ((2048, 3072, 8192), (3072,)):
            for label, first in (("top bits set", 0xFF), ("top bits clear", 0x7F), ("a zero byte in front", 0)):
                about = f"{algorithm}, {len(sizes)} sizes, {label}"
                values = [
                    int.from_bytes(bytes([first]) + draw(f"{about} {name}", 255), "big")
                    for name in ("prime", "generator", "client public", "server public")
                ]
                shared = bytes([first]) + draw(f"{about} shared", 255)
                hashed = lines + b"".join(uint32(size) for size in sizes) + b"".join(mpint(each) for each in values)
                yield {
                    "name": about,
                    "hash": algorithm,
                    "sizes": list(sizes),
                    **{
                        name: f"{each:0512x}"
                        for name, each in zip(("prime", "generator", "clientPublic", "serverPublic"), values)
                    },
                    "shared": shared.hex(),
                    "exchangeHash": hashlib.new(algorithm, hashed + encoded(shared, "mpint")).hexdigest(),
                }


def derive(algorithm, secret, exchange_hash, session_id, letter, size):
    """RFC 4253 §7.2: K1 = HASH(K || H || X || session_id), Kn = HASH(K || H || K1 || ... || Kn-1)."""
    key = hashlib.new(algorithm, secret + exchange_hash + letter.encode() + session_id).digest()
    while len(key) < size:
        key += hashlib.new(algorithm, secret + exchange_hash + key).digest()
    return key[:size]


def derive_rows():
    for algorithm in HASHES:
        size = hashlib.new(algorithm).digest_size
        exchange_hash = draw(f"{algorithm} exchange hash", size)
        session_id = draw(f"{algorithm} session id", size)
        for name, raw in SECRETS.items():
            secret = encoded(raw, "mpint")
            yield {
                "name": f"{algorithm}, {name}",
                "hash": algorithm,
                "secret": secret.hex(),
                "exchangeHash": exchange_hash.hex(),
                "sessionId": session_id.hex(),
                "letters": {
                    letter: derive(algorithm, secret, exchange_hash, session_id, letter, MATERIAL).hex()
                    for letter in LETTERS
                },
            }


def direction_rows():
    """A packet each way under keys that come all the way from the secret; each direction has its own algorithms."""
    everything = list(protections())
    for index, to_server in enumerate(everything):
        to_client = everything[(index + 7) % len(everything)]
        algorithm = HASHES[1 + index % 3]
        size = hashlib.new(algorithm).digest_size
        secret = encoded(draw(f"direction {index}", 32), "mpint")
        exchange_hash = draw(f"direction {index} exchange hash", size)
        session_id = draw(f"direction {index} session id", size)
        row = {
            "name": f"{name_of(*to_server)} to the server, {name_of(*to_client)} to the client",
            "hash": algorithm,
            "secret": secret.hex(),
            "exchangeHash": exchange_hash.hex(),
            "sessionId": session_id.hex(),
        }
        for direction, (cipher, mac), letters in (("toServer", to_server, "ACE"), ("toClient", to_client, "BDF")):
            key_size, iv_size = CIPHERS[cipher]
            sizes = (iv_size, key_size, MACS[mac][1] if mac else 0)
            iv, key, mac_key = (
                derive(algorithm, secret, exchange_hash, session_id, letter, size)
                for letter, size in zip(letters, sizes)
            )
            protection = Protection(cipher, mac, key, iv, mac_key)
            payload = b"\x02" + string(draw(f"direction {index} {direction}", 9))
            padding = protection.pad(payload, f"direction {index} {direction} padding")
            row[direction] = {
                "cipher": cipher,
                "mac": mac,
                "sequence": 5,
                "payload": payload.hex(),
                "padding": padding.hex(),
                "sealed": protection.seal(5, payload, padding).hex(),
            }
        yield row


# Compression

FLUSHES = {"partial": zlib.Z_PARTIAL_FLUSH, "sync": zlib.Z_SYNC_FLUSH}


def compression_rows():
    """RFC 4253 §6.2: one zlib stream (RFC 1950) over payloads, each of which ends with a flush."""
    text = b"".join(string(b"name") + draw("compression", 8) for _ in range(400))
    payloads = [b"\x05" + string(b"ssh-userauth"), b"\x02", text, text[:7], bytes(35000), draw("noise", 3000), text]
    for flush, number in FLUSHES.items():
        for level in (1, 6, 9):
            stream = zlib.compressobj(level)
            yield {
                "name": f"level {level}, {flush} flush",
                "payloads": [hashlib.sha256(payload).hexdigest() for payload in payloads],
                "compressed": [(stream.compress(payload) + stream.flush(number)).hex() for payload in payloads],
            }


def group(section, rows, **shared):
    return {
        "source": f"vectors/ssh/generate.py with the Python package cryptography {cryptography.__version__}",
        "section": section,
        "licence": "CC0-1.0, made for puressh",
        **shared,
        "rows": list(rows),
    }


def save(name, content):
    (HERE / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


save(
    "compression.json",
    {
        **group("RFC 4253 §6.2, RFC 1950, RFC 1951", compression_rows()),
        "source": f"vectors/ssh/generate.py with zlib {zlib.ZLIB_RUNTIME_VERSION} of CPython",
    },
)
save(
    "packets.json",
    group(
        "RFC 4253 §6, RFC 2104 §5, RFC 4344 §4, RFC 5647 §7, RFC 6668, OpenSSH PROTOCOL §1.5, §1.6, PROTOCOL.chacha20poly1305",
        packet_rows(),
    ),
)
save(
    "keys.json",
    [
        group("RFC 4251 §5, RFC 8731 §3.1", secret_rows(), about="secrets"),
        group(
            "RFC 4253 §8, RFC 5656 §4, RFC 8731 §3.1",
            exchange_rows(),
            about="exchange hashes",
            inputs={name: part.hex() for name, part in EXCHANGE_INPUTS.items()},
        ),
        group("RFC 4419 §3", group_exchange_rows(), about="group exchange hashes"),
        group("RFC 4253 §7.2", derive_rows(), about="derivations"),
        group("RFC 4253 §6, §7.2", direction_rows(), about="directions"),
    ],
)
