"""Ed25519 as RFC 8032 section 5.1 defines it, and the signed notes and checkpoints of C2SP."""

from __future__ import annotations

import base64
import hashlib

from merkle import root_of, sha256

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = tuple[int, int, int, int]


def add(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * one[3] * other[3] * D % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(factor: int, point: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            total = add(total, point)
        point = add(point, point)
        factor >>= 1
    return total


def base_point() -> Point:
    y = 4 * pow(5, P - 2, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x & 1:
        x = P - x
    return x, y, 1, x * y % P


BASE = base_point()


def encoded(point: Point) -> bytes:
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def scalar_and_prefix(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | 1 << 254, digest[32:]


def public_key(seed: bytes) -> bytes:
    return encoded(times(scalar_and_prefix(seed)[0], BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    def number(*parts: bytes) -> int:
        return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER

    scalar, prefix = scalar_and_prefix(seed)
    nonce = number(prefix, message)
    commitment = encoded(times(nonce, BASE))
    response = (nonce + number(commitment, public_key(seed), message) * scalar) % ORDER
    return commitment + response.to_bytes(32, "little")


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Signer:
    """A named key of C2SP signed-note."""

    def __init__(self, name: str, seed: bytes) -> None:
        self.name, self.seed = name, seed
        self.public = b"\x01" + public_key(seed)
        self.id = sha256(name.encode(), b"\n", self.public)[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64_of(self.public)}"

    def line(self, text: str) -> str:
        return f"\u2014 {self.name} {base64_of(self.id + sign(self.seed, text.encode()))}\n"

    def note(self, text: str) -> str:
        return f"{text}\n{self.line(text)}"

    def checkpoint(self, leaves: list[bytes]) -> str:
        return self.note(f"{self.name}\n{len(leaves)}\n{base64_of(root_of(leaves))}\n")
