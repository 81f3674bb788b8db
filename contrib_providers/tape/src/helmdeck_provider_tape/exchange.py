"""An exchange: a request with its response or failure, and its serialisation.

Only the request itself is recorded, never its transport: no headers, URLs or keys. Values in ``extra`` with names of
secrets are removed first, so that they do not influence the key of the exchange either. The key of the wrapped provider is
removed wherever the request or the response repeats it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import attrs
import msgspec

from helmdeck_core import (
    FAILURES,
    CallFailed,
    ChatRequest,
    ChatResponse,
    FailureClass,
)

T = TypeVar("T")

FORMAT: Final = 1
"""Format version, part of every line; other versions are rejected."""

FIELDS: Final = (
    "model",
    "messages",
    "max_tokens",
    "temperature",
    "tools",
    "tool_choice",
    "response_format",
    "stop",
    "continues",
    "logprobs",
    "likelihood",
    "extra",
)
"""Fields that identify a request. Not ``stream``, which leads to the same response, nor ``task`` and others that are never sent."""

_SECRET = re.compile(r"header|authorization|api.?key|access.?token|secret|password|cookie", re.IGNORECASE)
_REMOVED = "[not recorded]"
_EXCERPT_CHARS = 40
_MAX_DIFFERENCES = 4

Clean = Callable[[str], str]
"""Redacts secrets in a string."""

Request = Mapping[str, Any]
"""A request as plain data with the fields of ``FIELDS``."""


@attrs.frozen
class Exchange:
    """A request and its outcome.

    :ivar key: the same for equal requests.
    """

    request: Request
    outcome: ChatResponse | CallFailed
    key: str = attrs.field(init=False, default=attrs.Factory(lambda self: key_of(self.request), takes_self=True))

    @property
    def is_answered(self) -> bool:
        """Whether the outcome is a response."""
        return isinstance(self.outcome, ChatResponse)

    def play(self) -> ChatResponse:
        """Replay the outcome.

        :raises CallFailed: the recorded failure.
        """
        if isinstance(self.outcome, CallFailed):
            # A copy: the original would collect a traceback each time.
            raise attrs.evolve(self.outcome)
        return self.outcome


def recorded(request: ChatRequest, clean: Clean = str) -> Request:
    """Return the recorded form of a request."""
    fields = {name: getattr(request, name) for name in FIELDS}
    if (wanted := request.response_format) is not None:
        # A schema that the deck adds itself depends on the messages, and is created only if the provider uses it.
        schema = None if wanted.is_optional else wanted.schema
        fields["response_format"] = {"kind": wanted.kind, "name": wanted.name, "schema": schema}
    plain: dict[str, Any] = msgspec.to_builtins(fields, enc_hook=dict)
    written: Request = _cleaned({**plain, "extra": _without_secrets(plain["extra"])}, clean)
    return written


def key_of(request: Request) -> str:
    """Return the SHA-256 of the canonical request, in hexadecimal digits."""
    return hashlib.sha256(_json(request)).hexdigest()


# -- lines ---------------------------------------------------------------------------------------------------


def to_line(exchange: Exchange, clean: Clean = str) -> bytes:
    """Return the exchange as one line of ASCII with its line break.

    :param clean: applied to the outcome; the request was redacted before its key was computed.
    """
    line: dict[str, Any] = {"tape": FORMAT, "key": exchange.key, "request": exchange.request}
    outcome = _cleaned(msgspec.to_builtins(attrs.asdict(exchange.outcome, recurse=False), enc_hook=dict), clean)
    if isinstance(exchange.outcome, CallFailed):
        line["failure"] = {"cause": exchange.outcome.failure_class.value, **outcome}
    else:
        line["response"] = outcome
    return _json(line) + b"\n"


def from_line(line: bytes) -> Exchange:
    """Read one line.

    :raises ValueError: the line is not an exchange of this format.
    """
    try:
        found = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    match found:
        case {"tape": version} if version != FORMAT:
            raise ValueError(f"format {version!r}; this version reads format {FORMAT}")
        case {"tape": _, "key": key, "request": dict() as request, "response": dict() as fields}:
            exchange = Exchange(request, _structured(fields, ChatResponse))
        case {"tape": _, "key": key, "request": dict() as request, "failure": dict() as fields}:
            cause = fields.get("cause")
            if cause not in list(FailureClass):
                raise ValueError(f"unknown cause {cause!r}")
            # Use the constructor, which msgspec bypasses and exceptions need.
            values = attrs.asdict(_structured(fields, CallFailed), recurse=False)
            exchange = Exchange(request, FAILURES[FailureClass(cause)](**values))
        case _:
            raise ValueError("not an exchange")
    if key != exchange.key:
        raise ValueError("the key does not match the request; the line may have been edited")
    return exchange


def is_whole(line: bytes) -> bool:
    """Whether a line is complete: a prefix of a JSON object is never valid JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _structured(fields: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from exc


def _json(value: object) -> bytes:
    # ASCII, because models do generate lone surrogates, which UTF-8 cannot encode.
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _cleaned(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: _cleaned(each, clean) for name, each in value.items()}
    return [_cleaned(each, clean) for each in value] if isinstance(value, (list, tuple)) else value


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _REMOVED if _SECRET.search(str(name)) else _without_secrets(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_secrets(each) for each in value]
    return value


# -- differences ---------------------------------------------------------------------------------------------


@attrs.frozen
class Difference:
    """The difference between two requests, by path of their leaves."""

    sent: Mapping[str, str]
    taped: Mapping[str, str]

    @classmethod
    def between(cls, sent: Request, taped: Request) -> Difference:
        """Return the differing leaves."""
        one, other = dict(_leaves(sent)), dict(_leaves(taped))
        paths = [path for path in {**one, **other} if one.get(path) != other.get(path)]
        return cls({p: one[p] for p in paths if p in one}, {p: other[p] for p in paths if p in other})

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the differing leaves, such as ``messages[1].parts[0].text``."""
        return tuple({**self.sent, **self.taped})

    @property
    def distance(self) -> tuple[int, int]:
        """Sort key: the number of differing leaves, then the length of their common prefixes."""
        shared = sum(_shared(self.sent.get(path, ""), self.taped.get(path, "")) for path in self.paths)
        return len(self.paths), -shared

    def __str__(self) -> str:
        significant = [path for path in self.paths if not self._is_only_empty(path)]
        shown = [self._line(path) for path in significant[:_MAX_DIFFERENCES]]
        more = len(significant) - len(shown)
        return "; ".join([*shown, *([f"and {more} more"] if more else [])])

    def _is_only_empty(self, path: str) -> bool:
        """Whether a container is empty in one request; its items in the other one are listed anyway."""
        value = self.sent.get(path) or self.taped.get(path)
        return value in ("[]", "{}") and any(other.startswith((f"{path}[", f"{path}.")) for other in self.paths)

    def _line(self, path: str) -> str:
        sent, taped = self.sent.get(path), self.taped.get(path)
        if sent is None or taped is None:
            value = sent or taped or ""
            return f"{path}: {_excerpt(value, 0)} {'only on the tape' if sent is None else 'only in the request'}"
        start = _shared(sent, taped)
        return f"{path}: {_excerpt(sent, start)} in the request, {_excerpt(taped, start)} on the tape"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _leaves(each, f"{path}.{name}" if path else str(name))
    elif isinstance(value, (list, tuple)) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    else:
        yield path, _json(value).decode()


def _shared(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((position for position, (left, right) in pairs if left != right), min(len(one), len(other)))


def _excerpt(text: str, around: int) -> str:
    """Return the part of a string around a position."""
    start = max(0, around - _EXCERPT_CHARS // 2) if len(text) > _EXCERPT_CHARS else 0
    end = start + _EXCERPT_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
