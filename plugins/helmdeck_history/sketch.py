"""Sketches of requests: keyed hashes by which similar requests are found, and from which no request can be computed.

A sketch holds the smallest hashes of the words and word pairs of a request (a bottom-k MinHash). The hashes are keyed with a
secret of the deployment, so that hashing a dictionary does not invert them without it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import re
import secrets
from pathlib import Path

from helmdeck_core import data_directory
from helmdeck_storage import create_private_file

MAX_HASHES = 8
MAX_WORDS = 256
"""Words of a request that are considered; a pasted document adds nothing."""

MAX_KNOWN = 8_192
"""Hashes that are kept in memory."""

_WORD = re.compile(r"[^\W_]{3,}")
_STEM_CHARS = 6
"""Characters of a word that count, so that most inflected forms are equal."""


def deployment_secret() -> str:
    """Return the secret of this user's data directory, which is created at the first use; only its owner can read it."""
    path = data_directory() / "history.key"
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    create_private_file(path, secrets.token_hex(32).encode())
    return _read(path)


def _read(path: Path) -> str:
    secret = path.read_text(encoding="ascii").strip()
    if not secret:
        raise ValueError(f"{path} is empty; delete it, and a new secret is created")
    return secret


def key_of(secret: str) -> bytes:
    """Return the key of a secret of any length."""
    return hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), person=b"helmdeck-sketch").digest()


def sketch(request: str, key: bytes) -> tuple[int, ...]:
    """Return the smallest keyed hashes of the words and word pairs of a request, at most ``MAX_HASHES``, sorted."""
    words = [stem(match.group()) for match in itertools.islice(_WORD.finditer(request.casefold()), MAX_WORDS)]
    grams = {*words, *(" ".join(pair) for pair in itertools.pairwise(words))}
    return tuple(sorted([_hash(gram, key) for gram in grams])[:MAX_HASHES])


def stem(word: str) -> str:
    """The start of a word without the plural ending that most languages with one share."""
    return (word[:-1] if len(word) > 3 and word.endswith("s") else word)[:_STEM_CHARS]


@functools.lru_cache(maxsize=MAX_KNOWN)  # most words of a request occurred in an earlier one
def _hash(gram: str, key: bytes) -> int:
    digest = hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "big") >> 1  # databases have signed numbers of 64 bits
