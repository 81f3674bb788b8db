"""Bodies of answers: JSON that may be damaged, pages that are none, and the numbers and words in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
import msgspec

from helmdeck_core import EMPTY, CallFailed, InvalidRequest, ProviderUnavailable, without_byte_order_mark
from helmdeck_core.redaction import MAX_READ_CHARS, Secrets, echoed, quoted, redacted, without_cut_secret
from helmdeck_provider_kit.failures import ErrorFacts, ErrorRules, failure_of, read_error, request_id

NOT_JSON: Final = object()
"""What ``decoded`` returns for bytes that hold no JSON."""



def decoded(body: bytes) -> Any:
    """Decode JSON, forgiving what can be forgiven; ``NOT_JSON`` for everything else."""
    body = without_byte_order_mark(body)
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # Some servers write NaN for a log probability; models write half a surrogate pair, or a part of a character's
        # bytes. The rest is still good.
        return _mended(json.loads(body.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return NOT_JSON


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_mended(item) for item in value]
    return {_mended(key): _mended(item) for key, item in value.items()} if isinstance(value, dict) else value


def checked(status: int, headers: Mapping[str, str], body: bytes, words: ErrorRules, secrets: Iterable[str]) -> Any:
    """Return the decoded body of an answer that is no error by its status; whether it is one by its content, is not asked.

    :param headers: names in lower case.
    :param words: what the words of the family's errors mean.
    :raises CallFailed: the status is that of an error or of a redirect, or the body is not JSON.
    """
    secrets = Secrets.of(secrets)
    if 300 <= status < 400:
        raise _redirected(status, headers, secrets)
    data = decoded(body)
    if status >= 400:
        refusal = read_error(data, words, is_refusal=True) or ErrorFacts()
        refusal = refusal if refusal.message else attrs.evolve(refusal, message=plain_text(body, secrets))
        raise failure_of(status, headers, refusal, words=words, secrets=secrets)
    if data is NOT_JSON:
        raise _not_json(status, headers, body, secrets)
    return data


def _redirected(status: int, headers: Mapping[str, str], secrets: Iterable[str]) -> CallFailed:
    target = quoted(_place(headers.get("location", "")), secrets)
    if target:
        detail = f"redirects are not followed; it points to {target}"
        headline = "the provider answered with a redirect"
        return InvalidRequest(headline, status=status, sub_cause="wrong_address", detail=detail)
    headline = "the provider answered with neither a completion nor an error"
    detail = "it names no address that one could go to, and nothing else that could be used"
    return InvalidRequest(headline, status=status, sub_cause="wrong_address", detail=detail)


def _place(location: str) -> str:
    """An address without what may be secret in it."""
    try:
        place = urlsplit(location)
        return f"{place.scheme}://{place.hostname or ''}{place.path}" if place.scheme else place.path
    except ValueError:  # brackets that do not fit
        return ""


def _not_json(status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str]) -> CallFailed:
    if body.lstrip()[:1] in (b"{", b"["):
        cause, problem = "cut_body", "the JSON breaks off or is damaged"
    elif body.strip():
        cause, problem = "not_json", f"it says {quoted(plain_text(body, secrets), secrets, 120)!r}"
    else:
        cause, problem = "empty_body", "it is empty"
    kind = headers.get("content-type", "no content type")
    detail = f"{problem} ({len(body):,} bytes, {quoted(kind, secrets, 60)})"
    return ProviderUnavailable(
        "the provider's answer is not JSON",
        status=status,
        request_id=request_id(headers, secrets),
        sub_cause=cause,
        detail=detail,
    )


def plain_text(body: bytes, secrets: Iterable[str] = ()) -> str:
    """What the beginning of a body that is not JSON says: the title of a page, or its text without tags."""
    secrets = Secrets.of(secrets)
    window = MAX_READ_CHARS + secrets.longest
    text = redacted(body[:window].decode("utf-8", "replace"), secrets, MAX_READ_CHARS)
    if len(body) > window:  # of characters that take several bytes, fewer than the limit are there
        text = without_cut_secret(text, secrets)
    title = re.search(r"(?i)<title[^>]*>([^<]*)", text)
    return title[1].strip() if title else re.sub(r"<[^>]*>", " ", text).strip()


# -- words and numbers ----------------------------------------------------------------------------------------


def word(value: object) -> str | None:
    """A field that should hold a word: ``None`` if it holds nothing, else a text."""
    return None if value is None else str(value)


def string(value: object) -> str:
    """A field that should hold a text: empty if it holds anything else."""
    return value if isinstance(value, str) else ""


def count(table: object, *names: str) -> int:
    """The first of some fields that holds a positive whole number; 0 without one."""
    if not isinstance(table, dict):
        return 0
    for name in names:
        value = table.get(name)
        is_number = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if is_number and value > 0:
            return int(value)
    return 0


def arguments(value: object) -> str:
    """The arguments of a tool call as JSON text; nothing, an empty text and ``null`` are three ways to say that a tool takes none."""
    if value in (None, "", "null"):
        return "{}"
    # Some servers send the object itself instead of its text.
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def quota(headers: Mapping[str, str], prefixes: tuple[str, ...], secrets: Iterable[str] = ()) -> Mapping[str, str]:
    """The headers that say how much is left, bounded and without secrets."""
    found = {name: echoed(value, secrets) for name, value in headers.items() if name.startswith(prefixes)}
    return found or EMPTY
