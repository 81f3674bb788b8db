"""Values that must not be shown: they hide themselves, and they are found again in what others say, in whatever form.

Nothing here runs while all goes well: what is hidden is looked for where there is something to tell, before it is cut.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import quote, unquote, urlsplit

K = TypeVar("K")
V = TypeVar("V", covariant=True)

REDACTED: Final = "[redacted]"
NOT_SHOWN: Final = "(not shown)"

MIN_TELLING_CHARS = 4
"""Fewer characters of a secret than this say nothing, and a value that has fewer is none."""
_MIN_CODED_CHARS = 8
"""Of a shorter secret the form in base64 is so short that it would be found by chance."""
_MOST_LAYERS = 3
"""How often a text may be escaped for a secret in it still to be found."""

_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token|key|api-?key) +")
_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie|signature", re.IGNORECASE)
_ESCAPES = re.compile(r"[%&\\]")
_BACKSLASHED = re.compile(r"\\(?:(?:u00|x)([0-9a-fA-F]{2})|(.))")


class Hidden(Mapping[K, V]):
    """A mapping whose values are to be sent and not to be shown: its ``repr`` has the names, and nothing writes it down."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[K, V] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: K) -> V:
        return self._values[name]

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{', '.join(map(str, self)) or 'none'}: {NOT_SHOWN}>" if self else "{}"

    def __copy__(self) -> Hidden[K, V]:
        return self

    def __deepcopy__(self, memo: object) -> Hidden[K, V]:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("values that are not to be shown are not pickled; read the configuration where it is needed")


def hidden(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same mapping with its values hidden."""
    return values if isinstance(values, Hidden) else Hidden(values)


def hidden_texts(values: Mapping[str, str]) -> Mapping[str, str]:
    """The same for texts, such as headers."""
    return hidden(values)


class Secrets:
    """Texts that must not be shown, and the forms in which they may come back.

    It is iterated over like a tuple; its ``repr`` says how many there are.

    :ivar shortest: a text of fewer characters holds none; 0 without any.
    :ivar pattern: matches what looks like a secret although it is none of the values; ``None`` for nothing.
    """

    __slots__ = ("_forms", "_values", "pattern", "shortest")

    def __init__(self, values: Iterable[str] = (), pattern: re.Pattern[str] | None = None) -> None:
        self.pattern = pattern
        self._values = tuple(dict.fromkeys(filter(None, values)))
        self._forms: tuple[str, ...] | None = None
        # No form is shorter than what it stands for.
        self.shortest = min(map(len, self._values), default=0)

    @classmethod
    def of(cls, values: Iterable[str]) -> Secrets:
        """The same, where they are secrets already, with the forms that are known."""
        return values if isinstance(values, Secrets) else cls(values)

    def with_pattern(self, pattern: re.Pattern[str] | None) -> Secrets:
        """The same secrets with another pattern."""
        if pattern is self.pattern:
            return self
        same = Secrets(self._values, pattern)
        same._forms = self._forms
        return same

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{len(self)} secrets>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("secrets are not pickled")

    def are(self, values: tuple[str, ...]) -> bool:
        """Whether they are just these."""
        return self._values == values

    @property
    def forms(self) -> tuple[str, ...]:
        """Each as it is, escaped for an address, for JSON and for HTML, and what of it is always the same in base64."""
        if self._forms is None:
            self._forms = tuple(dict.fromkeys(form for secret in self for form in _forms(secret)))
        return self._forms

    @property
    def longest(self) -> int:
        """Characters of the longest form."""
        return max(map(len, self.forms), default=0)

    def are_in(self, text: str) -> bool:
        """Whether the text holds one of them, also escaped in ways that are not among the forms, or more than once."""
        if len(text) < self.shortest or not self._values:
            return False
        if any(form in text for form in self.forms):
            return True
        for _ in range(_MOST_LAYERS):
            if not _ESCAPES.search(text):
                return False
            for unescape in (unquote, html.unescape, _without_backslashes):
                text = unescape(text)
                if any(secret in text for secret in self):
                    return True
        return False


def _forms(secret: str) -> Iterator[str]:
    yield secret
    in_json = json.dumps(secret)[1:-1]
    yield from (quote(secret, safe=""), quote(secret), in_json, in_json.replace("/", "\\/"))
    yield from (html.escape(secret, quote=False), html.escape(secret))
    if len(secret) >= _MIN_CODED_CHARS:
        data = secret.encode("utf-8", "surrogatepass")
        yield data.hex()
        for offset, start in enumerate((0, 2, 3)):
            # What stands before decides where among the groups of three bytes it begins, and shares a character with it.
            coded = base64.b64encode(bytes(offset) + data).decode()[start : 8 * (offset + len(data)) // 6]
            yield from (coded, coded.translate({ord("+"): "-", ord("/"): "_"}))


def _without_backslashes(text: str) -> str:
    return _BACKSLASHED.sub(lambda found: found[2] or chr(int(found[1], 16)), text)


# -- in what others say ---------------------------------------------------------------------------------------


def redacted(text: str, secrets: Iterable[str], limit: int) -> str:
    """Return what the first ``limit`` characters say without the secrets, also without one that the limit cuts in two.

    Takes no longer for a text of any length: only the limit and one secret more are looked at. A text that holds one in a
    form that cannot be cut out is hidden as a whole.
    """
    secrets = Secrets.of(secrets)
    window = text[: limit + secrets.longest]
    # Found one by one and laid over each other, so that what two of them share hides neither.
    places = sorted((start, start + len(form)) for form in secrets.forms for start in _places(window, form))
    parts, end = [], 0
    for start, stop in places:
        if start >= limit:
            break
        if start >= end:
            parts += [window[end:start], REDACTED]
        end = max(end, stop)
    rest = window[end:limit]
    clean = "".join(parts) + (without_cut_secret(rest, secrets) if len(text) > limit else rest)
    return REDACTED if secrets.are_in(clean) else clean


def without(secrets: Iterable[str], text: str) -> str:
    """A whole text without the secrets."""
    return redacted(text, secrets, len(text))


def _places(text: str, part: str, start: int = 0) -> Iterator[int]:
    while (start := text.find(part, start)) >= 0:
        yield start
        start += 1


def without_cut_secret(text: str, secrets: Iterable[str]) -> str:
    """Return a text that was cut without its end, if that is how a secret begins."""
    forms = [form for form in Secrets.of(secrets).forms if len(form) >= MIN_TELLING_CHARS]
    while True:
        beginnings = (
            start
            for form in forms
            for start in _places(text, form[:MIN_TELLING_CHARS], max(0, len(text) - len(form)))
            if form.startswith(text[start:])
        )
        start = min(beginnings, default=None)
        if start is None:
            return text
        text = text[:start].rstrip()  # what now stands at the end may be another one


# -- quoting ------------------------------------------------------------------------------------------------

MAX_DETAIL_CHARS = 300
"""Of what a provider says about a failure."""
MAX_EXCERPT_CHARS = 200
"""Of what a model wrote, in a failure."""
MAX_ECHO_CHARS = 200
"""Of a short field of an answer."""
MAX_READ_CHARS = 4_000
"""More of an error text than this is not even looked at."""
_SCHEME_AND_VALUE = re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+")
_NAME_AND_VALUE = re.compile(
    r"(?i)\b(?:api[ _-]?key|authorization|access[ _-]?token)\b[^:=\n]{0,12}[:=]\s*\"?[^\s\"',;}]+"
)


def quoted(text: str, secrets: Iterable[str] = (), limit: int = MAX_DETAIL_CHARS) -> str:
    """Return text that is safe to show: no secret, no control character, one line, at most ``limit`` characters.

    Redacted are the secrets, what matches their pattern, and the values of credentials as HTTP headers and forms write them.
    """
    secrets = Secrets.of(secrets)
    # Secrets go before anything is cut and before blanks become fewer, so that no half of one can stay.
    text = redacted(text, secrets, MAX_READ_CHARS)
    for pattern in filter(None, (_SCHEME_AND_VALUE, secrets.pattern, _NAME_AND_VALUE)):
        text = pattern.sub(REDACTED, text)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    # A secret with blanks in it may have come with other ones.
    line = redacted(line, [" ".join(secret.split()) for secret in secrets if " " in secret], MAX_READ_CHARS)
    if len(line) > limit:
        return without_cut_secret(line[: limit - 1], secrets) + "…"
    # Whoever sent the text may have cut it as well.
    return without_cut_secret(line, secrets)


def echoed(word: str, secrets: Iterable[str] = ()) -> str:
    """Return a short field of an answer as it came, bounded and without secrets.

    Nothing is guessed from its shape, because the name of a model may look like a key.
    """
    secrets = Secrets.of(secrets)
    if len(word) <= MAX_ECHO_CHARS and (len(word) < secrets.shortest or not secrets.shortest):
        return word  # as nearly all are
    clean = redacted(word, secrets, MAX_ECHO_CHARS)
    return clean if max(len(word), len(clean)) <= MAX_ECHO_CHARS else clean[: MAX_ECHO_CHARS - 1] + "…"


# -- in what a deployment says --------------------------------------------------------------------------------


def speaks_of_secrets(name: str) -> bool:
    """Whether what has this name may be a secret."""
    return _SECRET_NAME.search(name) is not None


def shown_url(text: str) -> str:
    """An address without what may be secret in it: who asks, the query, the fragment."""
    scheme, slashes, rest = text.partition("://")
    if not slashes:
        scheme, rest = "", text
    who, at, place = rest.rpartition("@")
    place, *more = re.split(r"(?=[?#])", place, maxsplit=1)
    return f"{scheme}{slashes}{NOT_SHOWN if who else ''}{at}{place}{more[0][0] + NOT_SHOWN if more else ''}"


def secret_in(url: str) -> str:
    """What is wrong with an address that holds a secret; empty for every other one."""
    _, _, rest = url.rpartition("://")
    place, _, query = rest.partition("?")
    if "@" in place.partition("/")[0]:
        return "holds a name or a password"
    names = (pair.partition("=")[0] for pair in query.partition("#")[0].split("&"))
    return "holds a secret in its query" if any(map(speaks_of_secrets, names)) else ""


def option_secrets(options: Mapping[str, Any]) -> Iterator[str]:
    """What of the options of a plugin must not be shown: those whose names say so, and passwords in addresses."""
    for name, value in options.items():
        if isinstance(value, str):
            yield from ((value,) if speaks_of_secrets(name) else url_secrets(value))


def url_secrets(url: str) -> Iterator[str]:
    """What of an address must not be shown: the password, and the name with it."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        password = parts.password
    except ValueError:  # brackets, or a port that is not a number
        return
    if password:
        name = unquote(parts.username or "")
        yield from (unquote(password), f"{name}:{unquote(password)}", password)


def header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """What of headers must not be shown: every value, for no name tells whether it is a secret.

    Only one that is too short to be a secret does not count. Of a value with a scheme, as in ``Bearer abc``, what follows
    the scheme is the secret; of a name and a password in base64, the password, too.
    """
    for value in map(str.strip, headers.values()):
        rest = without_scheme(value)
        found = rest if len(rest) >= MIN_TELLING_CHARS else value
        if len(found) >= MIN_TELLING_CHARS:
            yield found
            if value[:6].casefold() == "basic ":
                yield from _basic(rest)


def without_scheme(value: str) -> str:
    """What follows the scheme in the value of a header, as ``abc`` does in ``Bearer abc``."""
    return _SCHEME.sub("", value)


def _basic(coded: str) -> Iterator[str]:
    try:
        told = base64.b64decode(coded, validate=True).decode()
    except ValueError:
        return
    yield from (text for text in (told, told.partition(":")[2]) if len(text) >= MIN_TELLING_CHARS)
