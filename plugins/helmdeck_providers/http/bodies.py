"""Decodes response bodies, including damaged JSON and HTML pages, and reads the fields of decoded JSON (``string``, ``count`` ...)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
import msgspec

from helmdeck_core import (
    EMPTY,
    MAX_READ_CHARS,
    CallFailed,
    InvalidRequest,
    ProviderUnavailable,
    Secrets,
    echoed,
    quoted,
    redacted,
    without_byte_order_mark,
    without_cut_secret,
)
from helmdeck_providers.http.error_rules import ErrorRules
from helmdeck_providers.http.failures import ErrorFacts, failure_of, read_error, request_id

MAX_COUNT: Final = 2**53
"""No response has more tokens; a larger number is a mistake of the server."""

NOT_JSON: Final = object()
"""Returned by ``decode_json`` for bytes that are not JSON."""


MAX_WEIGHT: Final = 400_000
"""How much is decoded: an object or array counts twice, and every comma once. More would block the event loop."""
_MAX_LENIENT_WEIGHT = 100_000
_MAX_LENIENT_BYTES = 4_000_000
_WEIGHED_BYTES = 65_536
_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode_json(body: bytes) -> Any:
    """Decode JSON leniently; return ``NOT_JSON`` if that fails, or would block the event loop for too long."""
    body = without_byte_order_mark(body)
    weight = _weight(body)
    if weight > MAX_WEIGHT:
        return NOT_JSON
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    if weight > _MAX_LENIENT_WEIGHT or len(body) > _MAX_LENIENT_BYTES:
        return NOT_JSON
    try:
        # Some servers write NaN for a log probability; models write lone surrogates and incomplete UTF-8.
        value = json.loads(body.decode("utf-8", "replace"))
        return _without_surrogates(value) if _LONE_SURROGATE.search(body) else value
    except (ValueError, RecursionError):
        return NOT_JSON


def _weight(body: bytes) -> int:
    weight = 0
    for start in range(0, len(body), _WEIGHED_BYTES):
        part = body[start : start + _WEIGHED_BYTES]
        weight += 2 * (part.count(b"[") + part.count(b"{")) + part.count(b",")
        if weight > MAX_WEIGHT:  # counting the rest takes long as well
            break
    return weight


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return (
        {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def decode_body(status: int, headers: Mapping[str, str], body: bytes, rules: ErrorRules, secrets: Iterable[str]) -> Any:
    """Return the decoded body of a response with a success status; errors in the body are not detected.

    :param headers: names in lower case.
    :param rules: map error responses to failure classes.
    :raises CallFailed: the status is an error or a redirect, or the body is not JSON.
    """
    secrets = Secrets.of(secrets)
    if 300 <= status < 400:
        raise _redirect_failure(status, headers, secrets)
    data = decode_json(body)
    if status >= 400:
        facts = read_error(data, rules, is_refusal=True) or ErrorFacts()
        facts = facts if facts.message else attrs.evolve(facts, message=plain_text(body, secrets))
        raise failure_of(status, headers, facts, rules=rules, secrets=secrets)
    if data is NOT_JSON:
        raise _not_json_failure(status, headers, body, secrets)
    return data


def _redirect_failure(status: int, headers: Mapping[str, str], secrets: Iterable[str]) -> CallFailed:
    target = quoted(_public_url(headers.get("location", "")), secrets)
    if target:
        detail = f"redirects are not followed; the target is {target}"
        headline = "the provider answered with a redirect"
        return InvalidRequest(headline, status=status, sub_cause="wrong_address", detail=detail)
    headline = "the provider answered with neither a completion nor an error"
    detail = "the response names no usable location"
    return InvalidRequest(headline, status=status, sub_cause="wrong_address", detail=detail)


def _public_url(location: str) -> str:
    """Return a URL without the parts that may contain secrets."""
    try:
        url = urlsplit(location)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}" if url.scheme else url.path
    except ValueError:  # unbalanced brackets
        return ""


def _not_json_failure(status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str]) -> CallFailed:
    if _weight(body) > MAX_WEIGHT:
        cause, problem = "too_large", "it has too many values"
    elif body.lstrip()[:1] in (b"{", b"["):
        cause, problem = "cut_body", "the JSON is truncated or damaged"
    elif body.strip():
        cause, problem = "not_json", f"it reads {quoted(plain_text(body, secrets), secrets, 120)!r}"
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
    """Return the readable text at the start of a body that is not JSON: an HTML title, or the text without tags.

    >>> from helmdeck_providers import plain_text
    >>> plain_text(b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>")
    '502 Bad Gateway'
    """
    secrets = Secrets.of(secrets)
    window = MAX_READ_CHARS + secrets.longest
    text = redacted(body[:window].decode("utf-8", "replace"), secrets, MAX_READ_CHARS)
    if len(body) > window:  # with multi-byte characters, the text is shorter than the limit
        text = without_cut_secret(text, secrets)
    title = re.search(r"(?i)<title[^>]*>([^<]*)", text)
    return title[1].strip() if title else re.sub(r"<[^>]*>", " ", text).strip()


# -- fields ---------------------------------------------------------------------------------------------------


def word(value: object) -> str | None:
    """Return a value as a string; ``None`` stays ``None``."""
    return None if value is None else str(value)


def table(value: object) -> dict[str, Any]:
    """Return an object, or an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list, or an empty list for any other value.

    >>> from helmdeck_providers import rows
    >>> rows([{"id": "a"}, "b"]), rows(None)
    ([{'id': 'a'}], [])
    """
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def native_word(value: object) -> str | None:
    """Return a native stop reason as a string; some APIs send numbers."""
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def string(value: object) -> str:
    """Return a string, or an empty one for any other value."""
    return value if isinstance(value, str) else ""


def count(table: object, *names: str) -> int:
    """Return the first of several fields that is a positive integer, or 0; larger ones than ``MAX_COUNT`` are not."""
    if not isinstance(table, dict):
        return 0
    for name in names:
        value = table.get(name)
        if (type(value) is int or (type(value) is float and value.is_integer())) and 0 < value <= MAX_COUNT:
            return int(value)
    return 0


def arguments(value: object) -> str:
    """Return the arguments of a tool call as JSON; ``None``, an empty string and ``null`` mean no arguments."""
    if value in (None, "", "null"):
        return "{}"
    if isinstance(value, str):
        return value
    encoded = msgspec.json.encode(value)  # some servers send an object instead of JSON
    # NaN would become null here; as it is, it makes the arguments invalid.
    return json.dumps(value, ensure_ascii=False) if b"null" in encoded else encoded.decode()


def undelivered(received: str, whole: str) -> str:
    """Return the part of a string that no delta delivered; empty if the deltas differ from it."""
    return whole[len(received) :] if whole.startswith(received) else ""


def quota(headers: Mapping[str, str], prefixes: tuple[str, ...], secrets: Iterable[str] = ()) -> Mapping[str, str]:
    """Return the headers with the remaining quota, shortened and without secrets."""
    quotas = {name: echoed(value, secrets) for name, value in headers.items() if name.startswith(prefixes)}
    return quotas or EMPTY
