"""Bearer tokens of callers. Only their hashes are kept, and all of them are compared, so that timing reveals nothing."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping

from helmdeck_core import SecretRef
from helmdeck_core.cli import UsageError

MIN_TOKEN_CHARS = 16
"""A shorter token can be guessed."""

FORMS = "NAME=env:VARIABLE, NAME=file:PATH or NAME=sha256:HEX"


class Tokens:
    """The tokens of a server.

    :param digests: the SHA-256 of each token, by the name of its caller.
    """

    def __init__(self, digests: Mapping[str, bytes]) -> None:
        self._digests = dict(digests)

    def __len__(self) -> int:
        return len(self._digests)

    def __repr__(self) -> str:
        return f"Tokens({', '.join(sorted(self._digests))})"

    def caller(self, authorization: str) -> str | None:
        """Return the name of the caller that an ``Authorization`` header identifies; ``None`` for any other header."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        digest = hashlib.sha256(token.strip().encode("utf-8", "surrogateescape")).digest()
        found = None
        for name, known in self._digests.items():
            if hmac.compare_digest(digest, known):
                found = name
        return found

    @classmethod
    def read(cls, texts: Iterable[str]) -> Tokens:
        """Read tokens of the forms ``NAME=env:VARIABLE``, ``NAME=file:PATH`` and ``NAME=sha256:HEX``.

        :raises UsageError: with every mistake; the value of a token is never part of it.
        """
        digests: dict[str, bytes] = {}
        mistakes: list[str] = []
        for number, text in enumerate(texts, 1):
            name, sign, reference = text.partition("=")
            if not sign or not re.fullmatch(r"[A-Za-z0-9_.@-]{1,64}", name):
                mistakes.append(f"token {number} has no valid name before '='; letters, digits and _.@- are allowed")
                continue
            if name in digests:
                mistakes.append(f"token {name!r} is given twice")
                continue
            digest, problem = _digest(reference)
            if digest is not None and digest in digests.values():
                problem = "another caller has the same token"
            if problem or digest is None:
                mistakes.append(f"token {name!r}: {problem}")
            else:
                digests[name] = digest
        if mistakes:
            raise UsageError(f"--token takes {FORMS}: {'; '.join(mistakes)}")
        return cls(digests)


def _digest(reference: str) -> tuple[bytes | None, str]:
    kind, sign, target = reference.partition(":")
    if kind == "sha256" and sign:
        if re.fullmatch(r"[0-9a-fA-F]{64}", target):
            return bytes.fromhex(target), ""
        return None, "sha256: is followed by 64 hexadecimal digits"
    if kind not in ("env", "file") or not target:
        return None, "the value is not a reference; a token itself does not belong on a command line"
    value = SecretRef(kind, target).read()
    if value is None:
        what = f"the environment variable {target} is not set" if kind == "env" else f"the file {target} cannot be read"
        return None, what
    if len(value) < MIN_TOKEN_CHARS:
        return None, f"{kind}:{target} has fewer than {MIN_TOKEN_CHARS} characters"
    return hashlib.sha256(value.encode()).digest(), ""
