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
_LONG_CHARS = 4_000
"""Characters from which on a request may have far more words than are considered."""

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
    text = request.casefold()
    if len(text) > _LONG_CHARS:
        words = [match.group() for match in itertools.islice(_WORD.finditer(text), MAX_WORDS)]
    else:
        words = _WORD.findall(text)[:MAX_WORDS]
    stems = list(map(stem, words))
    grams = {*stems, *map(" ".join, itertools.pairwise(stems))}
    return tuple(sorted(map(_hashes(key).__getitem__, grams))[:MAX_HASHES])


@functools.lru_cache(maxsize=MAX_KNOWN)
def stem(word: str) -> str:
    """The start of a word without the plural ending that most languages with one share."""
    return (word[:-1] if len(word) > 3 and word.endswith("s") else word)[:_STEM_CHARS]


class _Hashes(dict[str, int]):
    """The hashes of words and pairs with one key, kept since most of those of a request occurred in an earlier one."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __missing__(self, gram: str) -> int:
        digest = hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key).digest()
        if len(self) >= MAX_KNOWN:
            self.clear()
        self[gram] = found = int.from_bytes(digest, "big") >> 1  # databases have signed numbers of 64 bits
        return found


_hashes = functools.lru_cache(maxsize=4)(_Hashes)
