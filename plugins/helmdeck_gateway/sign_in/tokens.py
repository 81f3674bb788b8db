"""Checks of tokens: the signature by PyJWT, then the claims. What a token says about where its key is found is never read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_gateway.problems import Problem
from helmdeck_gateway.sign_in.key_set import KeySet, SigningKey
from helmdeck_gateway.sign_in.settings import SignInSettings

MAX_BYTES: Final = 16_384
"""Size of a token; servers in front of a gateway refuse larger headers."""

MAX_CANDIDATES: Final = 4
"""Keys of the same id that are tried."""

MAX_SUBJECT: Final = 255
"""Characters of ``sub``, as OpenID Connect defines."""

# A header begins with { and a quotation mark or whitespace, in base64.
_TOKEN: Final = re.compile(rb"e[wy][A-Za-z0-9_=-]*\.[A-Za-z0-9_=-]*(?:\.[A-Za-z0-9_=-]*){1,3}")
_TYPES: Final = ("jwt", "at+jwt")


class BadToken(Exception):
    """A token is refused; the message gives its sender the reason, without any part of the token.

    :ivar reason: a short constant for metrics.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def problem(self) -> Problem:
        """Return the error for the client."""
        code = "token_expired" if self.reason == "expired" else "invalid_token"
        return Problem(
            message=f"the token is refused: {self}", status=401, kind="authentication_error", code=code
        )  # fmt: skip


@attrs.frozen(kw_only=True)
class Verified:
    """A verified token.

    :ivar expires_s: seconds since 1970.
    """

    claims: Mapping[str, Any] = attrs.field(repr=False)
    expires_s: float
    key: SigningKey


def is_token(key: bytes) -> bool:
    """Return whether the key of a request is a token rather than a key of the gateway."""
    return _TOKEN.fullmatch(key) is not None


def unverified(token: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the header and the claims of a token before its signature is checked.

    :raises BadToken: it is malformed.
    """
    from jwt import PyJWS, PyJWTError

    if len(token) > MAX_BYTES:
        raise BadToken("malformed", f"it has {len(token):,} bytes; at most {MAX_BYTES:,} are allowed")
    if token.count(b".") != 2:
        raise BadToken("malformed", "it is encrypted, or has more than three parts")
    try:
        found = PyJWS().decode_complete(token, options={"verify_signature": False})
        claims = json.loads(found["payload"])
    except (PyJWTError, ValueError, RecursionError):  # RecursionError: nested too deeply
        raise BadToken("malformed", "its header or payload cannot be read") from None
    if not isinstance(claims, dict):
        raise BadToken("malformed", "its payload is not an object")
    return found["header"], claims


async def verify(token: bytes, settings: SignInSettings, keys: KeySet, now_s: float) -> Verified:
    """Return a token whose signature and claims are valid.

    :raises BadToken: it is not valid.
    :raises Problem: the keys of the issuer cannot be fetched.
    """
    header, _ = unverified(token)
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in settings.algorithms:
        raise BadToken("algorithm", f"its signature must be one of {', '.join(settings.algorithms)}")
    if "crit" in header or header.get("b64") is not None:
        raise BadToken("header", "its header has a critical extension, which the gateway does not know")
    kind = header.get("typ", "JWT")
    if not isinstance(kind, str) or kind.lower().removeprefix("application/") not in _TYPES:
        raise BadToken("header", "its type is neither JWT nor at+jwt")
    candidates = await keys.find(kid, algorithm)
    if not candidates:
        missing = "has no key id, and the issuer has several keys" if kid is None else "is signed by an unknown key"
        raise BadToken("key", f"it {missing}")
    found = _signer(token, candidates, algorithm) or _signer(token, await keys.find_new(kid, algorithm), algorithm)
    if found is None:
        raise BadToken("signature", "its signature is wrong")
    key, claims = found
    return Verified(claims=claims, expires_s=check_claims(claims, settings, now_s), key=key)


def _signer(
    token: bytes, candidates: Sequence[SigningKey], algorithm: str
) -> tuple[SigningKey, Mapping[str, Any]] | None:
    """The key that has signed a token, and the claims; ``None`` if none of them has."""
    for key in candidates[:MAX_CANDIDATES]:
        if (claims := _signed_claims(token, key, algorithm)) is not None:
            return key, claims
    return None


def _signed_claims(token: bytes, key: SigningKey, algorithm: str) -> Mapping[str, Any] | None:
    """The claims of a token, read from what was signed; ``None`` if the signature is wrong."""
    from jwt import PyJWS, PyJWTError

    try:
        payload = PyJWS().decode_complete(token, key.for_algorithm(algorithm), algorithms=[algorithm])["payload"]
    except (PyJWTError, ValueError, TypeError):
        return None
    claims: Mapping[str, Any] = json.loads(payload)
    return claims


def check_claims(claims: Mapping[str, Any], settings: SignInSettings, now_s: float) -> float:
    """Check the claims, and return when the token expires.

    :raises BadToken: one is missing or wrong.
    """
    if claims.get("iss") != settings.issuer:
        raise BadToken("issuer", "its issuer is another one")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if not any(each in settings.audience for each in audiences if isinstance(each, str)):
        raise BadToken("audience", f"its audience has none of {', '.join(map(repr, settings.audience))}")
    expires_s, leeway = _time(claims, "exp"), settings.leeway_s
    if expires_s is None:
        raise BadToken("expired", "it has no time of expiry (exp)")
    if now_s >= expires_s + leeway:
        raise BadToken("expired", "it has expired; sign in again for a new one")
    for name in ("nbf", "iat"):
        start_s = _time(claims, name)
        if start_s is not None and now_s < start_s - leeway:
            raise BadToken("early", f"it is not valid yet ({name}); the clocks differ by more than {leeway:g} s")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip() or len(subject) > MAX_SUBJECT:
        raise BadToken("subject", f"it has no subject (sub) of 1 to {MAX_SUBJECT} characters")
    return expires_s + leeway


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None and name not in claims:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise BadToken("malformed", f"its {name} is not a time")
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float has
        return False
