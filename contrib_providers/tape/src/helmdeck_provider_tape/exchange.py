"""One exchange: a request, and the response or the failure that it got. What is written down of it, and how.

What is written is the request itself, never its transport: no header, no address, no key. Values in ``extra`` whose
names speak of secrets are left out before anything else is done with them, the key of the exchange included; so is the key
of the wrapped provider, wherever in the request or in the answer it is repeated.
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
"""The version of the format, in every line; a line of another version is refused."""

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
    "extra",
)
"""What makes two requests the same. Not ``stream``, which sums to the same response, nor ``task``, which is never sent."""

_SECRET = re.compile(r"header|authorization|api.?key|access.?token|secret|password|cookie", re.IGNORECASE)
_HIDDEN = "[not recorded]"
_SHOWN_CHARS = 40
_SHOWN_DIFFERENCES = 4

Clean = Callable[[str], str]
"""Leaves out of a text what must not be written down."""

Request = Mapping[str, Any]
"""A request as plain data, the fields of ``FIELDS``."""


@attrs.frozen
class Exchange:
    """A request and its outcome.

    :ivar key: what equal requests have in common.
    """

    request: Request
    outcome: ChatResponse | CallFailed
    key: str = attrs.field(init=False, default=attrs.Factory(lambda self: key_of(self.request), takes_self=True))

    @property
    def is_answered(self) -> bool:
        """Whether there was a response, and not a failure."""
        return isinstance(self.outcome, ChatResponse)

    def play(self) -> ChatResponse:
        """Do again what the wrapped provider did.

        :raises CallFailed: the failure that was recorded.
        """
        if isinstance(self.outcome, CallFailed):
            # A new one each time: an exception collects the traces of everyone who raises it.
            raise attrs.evolve(self.outcome)
        return self.outcome


def recorded(request: ChatRequest, clean: Clean = str) -> Request:
    """Return what is written down of a request."""
    fields = {name: getattr(request, name) for name in FIELDS}
    if (wanted := request.response_format) is not None:
        # A schema that a deck offers of its own follows from the messages, and is only made where a provider takes it.
        schema = None if wanted.is_own_idea else wanted.schema
        fields["response_format"] = {"kind": wanted.kind, "name": wanted.name, "schema": schema}
    plain: dict[str, Any] = msgspec.to_builtins(fields, enc_hook=dict)
    written: Request = _cleaned({**plain, "extra": _without_secrets(plain["extra"])}, clean)
    return written


def key_of(request: Request) -> str:
    """Return the SHA-256 of the canonical request, in hexadecimal digits."""
    return hashlib.sha256(_json(request)).hexdigest()


# -- lines ---------------------------------------------------------------------------------------------------


def to_line(exchange: Exchange, clean: Clean = str) -> bytes:
    """Return the exchange as one line of ASCII, its end included.

    :param clean: is applied to the outcome; the request was cleaned before its key was made.
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

    :raises ValueError: it is not an exchange of this format; the text says what is wrong.
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
            # Through the constructor, which msgspec passes by and which makes an exception complete.
            facts = attrs.asdict(_structured(fields, CallFailed), recurse=False)
            exchange = Exchange(request, FAILURES[FailureClass(cause)](**facts))
        case _:
            raise ValueError("not an exchange")
    if key != exchange.key:
        raise ValueError("the key is not that of the request; was it edited by hand?")
    return exchange


def is_whole(line: bytes) -> bool:
    """Whether a line was written to its end: no beginning of an object is JSON of its own."""
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
    # ASCII, because models do write lone surrogates, which UTF-8 cannot hold.
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _cleaned(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: _cleaned(each, clean) for name, each in value.items()}
    return [_cleaned(each, clean) for each in value] if isinstance(value, (list, tuple)) else value


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _HIDDEN if _SECRET.search(str(name)) else _without_secrets(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_secrets(each) for each in value]
    return value


# -- differences ---------------------------------------------------------------------------------------------


@attrs.frozen
class Difference:
    """Two requests, leaf by leaf."""

    asked: Mapping[str, str]
    taped: Mapping[str, str]

    @classmethod
    def between(cls, asked: Request, taped: Request) -> Difference:
        """Keep what is not the same in both."""
        one, other = dict(_leaves(asked)), dict(_leaves(taped))
        paths = [path for path in {**one, **other} if one.get(path) != other.get(path)]
        return cls({p: one[p] for p in paths if p in one}, {p: other[p] for p in paths if p in other})

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the requests differ, such as ``messages[1].parts[0].text``."""
        return tuple({**self.asked, **self.taped})

    @property
    def distance(self) -> tuple[int, int]:
        """How far apart the requests are: by differing leaves, then by how early their texts part."""
        shared = sum(_shared(self.asked.get(path, ""), self.taped.get(path, "")) for path in self.paths)
        return len(self.paths), -shared

    def __str__(self) -> str:
        telling = [path for path in self.paths if not self._is_only_empty(path)]
        shown = [self._line(path) for path in telling[:_SHOWN_DIFFERENCES]]
        more = len(telling) - len(shown)
        return "; ".join([*shown, *([f"and {more} more"] if more else [])])

    def _is_only_empty(self, path: str) -> bool:
        """Whether a list or an object is empty in one request, which its items in the other one tell already."""
        value = self.asked.get(path) or self.taped.get(path)
        return value in ("[]", "{}") and any(other.startswith((f"{path}[", f"{path}.")) for other in self.paths)

    def _line(self, path: str) -> str:
        asked, taped = self.asked.get(path), self.taped.get(path)
        if asked is None or taped is None:
            value = asked or taped or ""
            return f"{path}: {_excerpt(value, 0)} {'on the tape only' if asked is None else 'asked only'}"
        start = _shared(asked, taped)
        return f"{path}: {_excerpt(asked, start)} asked, {_excerpt(taped, start)} on the tape"


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
    """How many characters two texts start with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _excerpt(text: str, around: int) -> str:
    """The part of a text where it starts to differ."""
    start = max(0, around - _SHOWN_CHARS // 2) if len(text) > _SHOWN_CHARS else 0
    end = start + _SHOWN_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
