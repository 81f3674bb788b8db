"""Redacts secrets: containers that never show their values, and removal of secrets and their parts from text in any encoding.

Text is searched only when it is about to be shown, for example in an error, and before it is shortened.
"""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import quote, unquote

K = TypeVar("K")
V = TypeVar("V", covariant=True)

REDACTED: Final = "[redacted]"
NOT_SHOWN: Final = "(not shown)"

MIN_TELLING_CHARS = 4
"""Minimum length of a secret, and of a part of a secret, that is redacted."""
_MIN_CODED_CHARS = 8
"""Minimum length for hexadecimal and base64 forms; shorter ones would match by chance."""
FRAGMENT_CHARS: Final = 8
"""Letters and digits of a secret in a row that are redacted in any case and spacing."""
MIN_WORD_CHARS: Final = 6
MAX_WORD_CHARS: Final = 15
"""Length of a common word or number that is not redacted for being part of a secret."""
_MAX_LAYERS = 3
"""Maximum nested escaping in which a secret is detected."""

_ESCAPES = re.compile(r"[%&\\]")
_LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")
_BACKSLASHED = re.compile(r"\\(?:(?:u00|x)([0-9a-fA-F]{2})|(.))")


class Hidden(Mapping[K, V]):
    """A mapping with secret values: its ``repr`` shows the names only, and it cannot be pickled.

    >>> from helmdeck_core import Hidden
    >>> headers = Hidden({"x-api-key": "example-key"})
    >>> headers, headers["x-api-key"]
    (<x-api-key: (not shown)>, 'example-key')
    """

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
        raise TypeError("secret values cannot be pickled; load the configuration in the process that needs it")


def hidden(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same mapping with its values hidden."""
    return values if isinstance(values, Hidden) else Hidden(values)


def hidden_texts(values: Mapping[str, str]) -> Mapping[str, str]:
    """The same for string values, such as headers."""
    return hidden(values)


class Secrets:
    """Secret strings, and the encoded forms in which they may appear.

    Iterates like a tuple; the ``repr`` shows only the number of secrets.

    :ivar shortest: length of the shortest secret; 0 if there are none.
    :ivar pattern: matches strings that look like secrets; ``None`` if there is no pattern.

    >>> from helmdeck_core import Secrets, quoted
    >>> quoted("the key example-key-1234 is wrong", Secrets(["example-key-1234"]))
    'the key [redacted] is wrong'
    """

    __slots__ = ("_forms", "_grams", "_values", "pattern", "shortest")

    def __init__(self, values: Iterable[str] = (), pattern: re.Pattern[str] | None = None) -> None:
        self.pattern: re.Pattern[str] | None = pattern
        self._values = tuple(dict.fromkeys(filter(None, values)))
        self._forms: tuple[str, ...] | None = None
        self._grams: frozenset[str] | None = None
        # No form is shorter than its secret.
        self.shortest: int = min(map(len, self._values), default=0)

    @classmethod
    def of(cls, values: Iterable[str]) -> Secrets:
        """Return ``values`` unchanged, with cached forms, if they are ``Secrets`` already."""
        return values if isinstance(values, Secrets) else cls(values)

    def with_pattern(self, pattern: re.Pattern[str] | None) -> Secrets:
        """The same secrets with another pattern."""
        if pattern is self.pattern:
            return self
        same = Secrets(self._values, pattern)
        same._forms, same._grams = self._forms, self._grams
        return same

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{len(self)} secrets>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("secrets cannot be pickled")

    def are(self, values: tuple[str, ...]) -> bool:
        """Whether the secrets equal ``values``."""
        return self._values == values

    @property
    def forms(self) -> tuple[str, ...]:
        """Each secret verbatim, in upper and lower case, escaped for URLs, JSON and HTML, in hexadecimal, and its invariant part in base64."""
        if self._forms is None:
            self._forms = tuple(dict.fromkeys(form for secret in self for form in _forms(secret)))
        return self._forms

    @property
    def longest(self) -> int:
        """Length of the longest form."""
        return max(map(len, self.forms), default=0)

    @property
    def grams(self) -> frozenset[str]:
        """Every part of ``FRAGMENT_CHARS`` letters and digits of every form, in lower case."""
        if self._grams is None:
            texts = map(_letters_and_digits, self.forms)
            self._grams = frozenset(
                text[start : start + FRAGMENT_CHARS]
                for text in texts
                for start in range(len(text) - FRAGMENT_CHARS + 1)
            )
        return self._grams

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each form in a text, and of each fragment in any case and spacing; they may overlap."""
        for form in self.forms:
            yield from ((start, start + len(form)) for start in _places(text, form))
        grams, letters = self.grams, _letters_and_digits(text)
        starts = [at for at in range(len(letters) - FRAGMENT_CHARS + 1) if letters[at : at + FRAGMENT_CHARS] in grams]
        if not starts:
            return
        positions = [match for each in _LETTERS_AND_DIGITS.finditer(text) for match in range(*each.span())]
        if len(positions) != len(letters):  # a letter whose lower case has two characters: nothing can be located
            yield 0, len(text)
            return
        first = starts[0]
        for at, following in itertools.pairwise((*starts, len(text) + 1)):
            if following > at + 1:
                start, stop = positions[first], positions[at + FRAGMENT_CHARS - 1] + 1
                if not self._is_word(text[start:stop]):
                    yield start, stop
                first = following

    def _is_word(self, text: str) -> bool:
        """Whether a fragment has only common words and numbers, such as ``Production``, and is not a whole secret."""
        words = _LETTERS_AND_DIGITS.findall(text)
        are_common = all(
            each.isdigit() or (each.isalpha() and each in (each.lower(), each.upper(), each.title())) for each in words
        )
        word = "".join(words).lower()
        # A secret with inserted spaces has no longer word.
        has_word = word.isdigit() or max(map(len, words)) >= MIN_WORD_CHARS
        return are_common and has_word and len(word) <= MAX_WORD_CHARS and word not in map(_letters_and_digits, self)

    def are_in(self, text: str) -> bool:
        """Whether the text contains a secret or a fragment of one, including mixed or nested escaping."""
        if not self._values:
            return False
        if any(True for _ in self.places(text)):
            return True
        # Escapes are undone in every order: a backslash that belongs to the secret must not be lost to the wrong one.
        texts = {text}
        for _ in range(_MAX_LAYERS):
            texts = {unescaped for each in texts for unescaped in _unescape_once(each)} - texts
            if any(secret in each for each in texts for secret in self):
                return True
            if any(self.has_fragment(each, 4) and any(True for _ in self.places(each)) for each in texts):
                return True
        return False

    def has_fragment(self, text: str, stride: int = 1) -> bool:
        """Whether ``FRAGMENT_CHARS`` letters and digits of the text, in any case, are part of a secret.

        :param stride: examine every n-th position only, which finds all fragments that are n - 1 characters longer.
        """
        letters, grams = _letters_and_digits(text), self.grams
        starts = range(0, len(letters) - FRAGMENT_CHARS + 1, stride)
        return any(letters[start : start + FRAGMENT_CHARS] in grams for start in starts)


def _letters_and_digits(text: str) -> str:
    return "".join(_LETTERS_AND_DIGITS.findall(text)).lower()


def _forms(secret: str) -> Iterator[str]:
    yield from (secret, secret.upper(), secret.lower())
    in_json = json.dumps(secret)[1:-1]
    yield from (quote(secret, safe=""), quote(secret), in_json, in_json.replace("/", "\\/"))
    yield from (html.escape(secret, quote=False), html.escape(secret))
    if len(secret) >= _MIN_CODED_CHARS:
        data = secret.encode("utf-8", "surrogatepass")
        yield data.hex()
        for offset, start in enumerate((0, 2, 3)):
            # The preceding bytes determine the offset in the three-byte group and share a character with the secret.
            coded = base64.b64encode(bytes(offset) + data).decode()[start : 8 * (offset + len(data)) // 6]
            yield from (coded, coded.translate({ord("+"): "-", ord("/"): "_"}))


def _unescape_once(text: str) -> Iterator[str]:
    """Yield the text without one layer of each kind of escape, and without one layer of all kinds."""
    if _ESCAPES.search(text):
        unescaped = text
        for unescape in (unquote, html.unescape, _without_backslashes):
            yield unescape(text)
            unescaped = unescape(unescaped)
        yield unescaped


def _without_backslashes(text: str) -> str:
    return _BACKSLASHED.sub(lambda match: match[2] or chr(int(match[1], 16)), text)


# -- removal from text ----------------------------------------------------------------------------------------


def redacted(text: str, secrets: Iterable[str], limit: int) -> str:
    """Return the first ``limit`` characters with secrets redacted, including one that the limit splits.

    The time is independent of the text length: at most one secret beyond the limit is examined. If a secret is present
    in a form that cannot be located, the whole text is redacted.

    >>> from helmdeck_core import redacted
    >>> redacted("the key example-key-1234 is wrong", ["example-key-1234"], 20)
    'the key [redacted]'
    """
    secrets = Secrets.of(secrets)
    window = text[: limit + 2 * secrets.longest]  # a secret may be spaced
    parts, end = [], 0
    for start, stop in sorted(secrets.places(window)):
        if start >= limit:
            break
        if start >= end:
            parts += [window[end:start], REDACTED]
        end = max(end, stop)
    rest = window[end:limit]
    clean = "".join(parts) + (without_cut_secret(rest, secrets) if len(text) > limit else rest)
    return REDACTED if secrets.are_in(clean) else clean


def without(secrets: Iterable[str], text: str) -> str:
    """The whole text with secrets redacted."""
    return redacted(text, secrets, len(text))


def _places(text: str, part: str, start: int = 0) -> Iterator[int]:
    while (start := text.find(part, start)) >= 0:
        yield start
        start += 1


def without_cut_secret(text: str, secrets: Iterable[str]) -> str:
    """Return a truncated text without its end if the end is a prefix of a secret.

    >>> from helmdeck_core import without_cut_secret
    >>> without_cut_secret("the key is example-ke", ["example-key-1234"])
    'the key is'
    """
    forms = [form for form in Secrets.of(secrets).forms if len(form) >= MIN_TELLING_CHARS]
    while True:
        prefixes = (
            start
            for form in forms
            for start in _places(text, form[:MIN_TELLING_CHARS], max(0, len(text) - len(form)))
            if form.startswith(text[start:])
        )
        start = min(prefixes, default=None)
        if start is None:
            return text
        text = text[:start].rstrip()  # the new end may be another prefix


# -- quoting ------------------------------------------------------------------------------------------------

MAX_DETAIL_CHARS = 300
"""Maximum length of a provider's error message."""
MAX_EXCERPT_CHARS = 200
"""Maximum length of model output in an error."""
MAX_ECHO_CHARS = 200
"""Maximum length of a short response field."""
MAX_READ_CHARS = 4_000
"""Maximum characters of an error message that are examined."""
_SCHEME_AND_VALUE = re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+")
_NAME_AND_VALUE = re.compile(
    r"(?i)\b(?:api[ _-]?key|authorization|access[ _-]?token)\b[^:=\n]{0,12}[:=]\s*\"?[^\s\"',;}]+"
)


def quoted(text: str, secrets: Iterable[str] = (), limit: int = MAX_DETAIL_CHARS) -> str:
    r"""Return text that is safe to show: redacted, without control characters, one line, at most ``limit`` characters.

    Redacts the secrets, matches of their pattern, and credentials in the syntax of HTTP headers and forms.

    >>> from helmdeck_core import quoted
    >>> quoted("key example-key-1234\nis wrong", ["example-key-1234"])
    'key [redacted] is wrong'
    """
    secrets = Secrets.of(secrets)
    # Redact before shortening and before collapsing whitespace, so that no part of a secret remains.
    text = redacted(text, secrets, MAX_READ_CHARS)
    for pattern in filter(None, (_SCHEME_AND_VALUE, secrets.pattern, _NAME_AND_VALUE)):
        text = pattern.sub(REDACTED, text)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(line) > limit:
        return without_cut_secret(line[: limit - 1], secrets) + "…"
    # The sender may have truncated the text, too.
    return without_cut_secret(line, secrets)


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return the whole text without what ``quoted`` redacts; its lines stay as they are."""
    secrets = Secrets.of(secrets)
    text = without(secrets, text)
    for pattern in filter(None, (_SCHEME_AND_VALUE, secrets.pattern, _NAME_AND_VALUE)):
        text = pattern.sub(REDACTED, text)
    return text


def echoed(word: str, secrets: Iterable[str] = ()) -> str:
    """Return a short response field, bounded and with secrets redacted.

    Patterns are not applied, because a model name may look like a key.
    """
    secrets = Secrets.of(secrets)
    if len(word) <= MAX_ECHO_CHARS and (
        not secrets or (len(word) < secrets.shortest and not secrets.has_fragment(word))
    ):
        return word  # the common case
    clean = redacted(word, secrets, MAX_ECHO_CHARS)
    return clean if max(len(word), len(clean)) <= MAX_ECHO_CHARS else clean[: MAX_ECHO_CHARS - 1] + "…"
