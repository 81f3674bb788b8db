"""Decode steps that repair malformed or wrapped JSON where only one value can be meant.

Most steps work on tokens, so the inside of a string is changed only if the string itself is malformed. A text with one
character outside any token is never changed, and no step completes truncated JSON.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from helmdeck_core import DecodeStep, hookimpl
from helmdeck_plugins.json_repair.wrapped import (
    MAX_LENGTH,
    drop_invisible,
    drop_quote_marks,
    halve_braces,
    narrow_marks,
    quote_by_entities,
    uncomment,
)

MAX_TOKENS = 50_000  # a text with more tokens is not repaired

_TOKEN = re.compile(
    r"""
    (?P<string>  " (?: [^"\\]++ | \\. )*+ " )
  | (?P<quoted>  ' (?: [^'\\\n]++ | \\. )*+ ' )
  | (?P<curly>   “ (?: [^“”"\\]++ | \\. )*+ ” )
  | (?P<comment> // [^\n]*+ | \# [^\n]*+ | /\* (?: [^*]++ | \* (?!/) )*+ \*/ )
  | (?P<space>   (?: \s | \\[nrt] )++ )
  | (?P<number>  [-+]? \.? \d [\w.+-]*+ )
  | (?P<word>    [^\W\d] [\w$-]*+ | \$ [\w$-]*+ )
  | (?P<mark>    [{}\[\],:] )
  | (?P<other>   . )                # keeps the scan linear: an unterminated string is not searched again
    """,
    re.VERBOSE | re.DOTALL,
)

_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_JSON_WHITESPACE = frozenset(" \t\r\n")
_CONSTANTS = {"true": "true", "false": "false", "none": "null", "null": "null"}

Token = tuple[str, str]
"""Kind and text; the joined texts of all tokens are the input."""

Rewrite = Callable[[list[Token]], list[str] | None]
"""Returns a new text for each token, or ``None`` if it cannot repair the input."""


@functools.lru_cache(1)  # several steps in a row read the same text
def tokens_of(text: str) -> list[Token] | None:
    """Return the tokens of a text; ``None`` for a character outside any token, or too many tokens."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "other" or len(tokens) == MAX_TOKENS:
            return None
        tokens.append((match.lastgroup or "", match.group()))
    return tokens


def _step(name: str, order: int, rewrite: Rewrite, *, only_with: str = "") -> DecodeStep:
    """Return a step that rewrites tokens; it has no candidate if nothing changes.

    :param only_with: the step runs only for texts with one of these characters, to skip most of them.
    """

    def candidates(text: str) -> Iterator[str]:
        if len(text) > MAX_LENGTH or text[:1] not in ("{", "[") or (only_with and not any(map(text.count, only_with))):
            return
        tokens = tokens_of(text)
        texts = rewrite(tokens) if tokens else None
        if texts is not None and (rewritten := "".join(texts)) != text:
            yield rewritten

    return DecodeStep(name=name, order=order, candidates=candidates)


def _each(kind: str, change: Callable[[str], str | None]) -> Rewrite:
    """Change every token of one kind; if a change returns ``None``, the text is not repaired."""

    def rewrite(tokens: list[Token]) -> list[str] | None:
        texts = [change(text) if token_kind == kind else text for token_kind, text in tokens]
        return None if None in texts else [text for text in texts if text is not None]

    return rewrite


# -- wrappers ----------------------------------------------------------------------------------------------


def _unwrap_text(text: str) -> Iterator[str]:
    """Yield the JSON text in a JSON string, with or without outer quotes; one level only."""
    if text.startswith('"'):
        quoted = text
    elif re.match(r'\{\s*(?:\\[nrt]\s*)*\\"', text):
        quoted = f'"{text}"'
    else:
        return
    try:
        yield msgspec.json.decode(quoted, type=str)
    except ValueError:
        return


def _unwrap_list(text: str) -> Iterator[str]:
    """Yield the only object of a list; several would be ambiguous."""
    try:
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
    except ValueError:
        return
    if len(items) == 1 and bytes(items[0])[:1] == b"{":
        yield bytes(items[0]).decode()


# -- strings -----------------------------------------------------------------------------------------------


def _from_quoted(text: str) -> str:
    """Convert a single-quoted string of Python or JavaScript to a JSON string."""
    body = _ESCAPE.sub(lambda escape: "'" if escape.group() == "\\'" else escape.group(), text[1:-1])
    return '"' + re.sub(r'(\\.)|"', lambda match: match.group(1) or '\\"', body, flags=re.DOTALL) + '"'


def _from_curly(text: str) -> str:
    return f'"{text[1:-1]}"'


def _escape_controls(text: str) -> str:
    return _CONTROL.sub(lambda char: json.dumps(char.group())[1:-1], text)


def _repair_escapes(text: str) -> str | None:
    r"""Double backslashes that start no JSON escape.

    In a Windows path or a formula with such a backslash, a ``\n`` or ``\f`` next to it may not be an escape either; the
    text is ambiguous then, and is not repaired.
    """
    escapes = _ESCAPE.findall(text)
    if any(map(_is_plain_letter, escapes)) and any(escape[1] in "bfnrtu" and _is_json(escape) for escape in escapes):
        return None
    return _ESCAPE.sub(lambda escape: _repaired_escape(escape.group()), text)


def _is_json(escape: str) -> bool:
    return escape[1] in '"\\/bfnrt' or (escape[1] == "u" and len(escape) == 6)


def _is_plain_letter(escape: str) -> bool:
    r"""Whether an escape such as ``\d`` is valid in no string syntax."""
    return escape[1].isalpha() and not _is_json(escape) and not _code_point(escape)


def _code_point(escape: str) -> int:
    """Return the code point of an escape that Python and JavaScript have, but not JSON; 0 for none."""
    code_point = int(escape[2:], 16) if escape[1] in "xU" and len(escape) > 2 else 0
    return code_point if code_point <= 0x10FFFF else 0


def _repaired_escape(escape: str) -> str:
    if _is_json(escape):
        return escape
    if escape == "\\'":
        return "'"
    if code_point := _code_point(escape):
        return json.dumps(chr(code_point))[1:-1]
    return "\\" + escape


# -- quotes within strings -----------------------------------------------------------------------------------

_QUOTE_OR_MARK = re.compile(r"\\.|[\"{}\[\]]", re.DOTALL)
_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_LOOK_BEHIND = 64  # characters; maximum whitespace between a colon and its value

_AFTER_KEY = re.compile(r"\s*+:")
_AFTER_VALUE = re.compile(r"""\s*+(?:,\s*+"(?:[^"\\]++|\\.)*+"\s*+:|,?\s*+\})""", re.DOTALL)
_AFTER_ITEM = re.compile(r"""\s*+(?:,\s*+(?:["{\[\d-]|true\b|false\b|null\b)|,?\s*+\])""")
_ENDS: dict[str, re.Pattern[str]] = {"key": _AFTER_KEY, "value": _AFTER_VALUE, "item": _AFTER_ITEM}
"""Text after a closing quote, by the role of the string."""


def _escape_quotes(text: str) -> Iterator[str]:
    """Escape quotes inside strings if they cannot be confused with closing quotes."""
    if len(text) > MAX_LENGTH or text[:1] not in ("{", "["):
        return
    parts: list[str] = []
    opened: list[str] = []
    done = at = inner = 0
    while mark := _QUOTE_OR_MARK.search(text, at):
        at = mark.end()
        if mark.group() in "{[":
            opened.append(mark.group())
        elif mark.group() in "}]":
            if not opened or opened.pop() + mark.group() not in ("{}", "[]"):
                return
            if not opened:
                break
        elif mark.group() == '"' and opened:
            before = text[max(0, at - _LOOK_BEHIND) : at - 1].rstrip()[-1:]
            role = "item" if opened[-1] == "[" else "value" if before == ":" else "key"
            end, quotes = _end_of_string(text, at, _ENDS[role])
            if not end or not _are_paired(text, at, end - 1, quotes):
                return
            inner += len(quotes)
            for quote in quotes:
                parts += (text[done:quote], "\\")
                done = quote
            at = end
    if inner and not opened and not text[at:].strip():
        yield "".join([*parts, text[done:]])


def _end_of_string(text: str, start: int, ends: re.Pattern[str]) -> tuple[int, list[int]]:
    """Return the end of the string that starts here (0 if it has none) and the positions of the quotes inside."""
    quotes: list[int] = []
    for mark in _QUOTE.finditer(text, start):
        if mark.group() == '"':
            if ends.match(text, mark.end()):
                return mark.end(), quotes
            quotes.append(mark.start())
    return 0, quotes


def _are_paired(text: str, start: int, end: int, quotes: list[int]) -> bool:
    """Whether quotes inside a string are paired, inch signs excepted; otherwise the string may end at one of them."""
    is_open, between = False, 0
    for quote in quotes:
        before, behind = text[quote - 1 : quote], text[quote + 1 : quote + 2]
        if not is_open and (behind in ",:}]" or (behind.isspace() and (before.isspace() or before in ',:[{"'))):
            return False
        if quote == start or before.isspace() or before in "([=>—–-'":
            if is_open or behind.isspace():
                return False
            is_open = True
        elif is_open and not behind.isalnum():
            is_open = False
        elif not is_open and before.isdigit() and not behind.isalnum():
            continue
        elif before.isalnum() and behind.isalnum():
            between += 1
        else:
            return False
    return not is_open and between % 2 == 0 and start <= end


# -- words, numbers, whitespace ------------------------------------------------------------------------------


def _constant(word: str) -> str:
    """Convert ``True``, ``FALSE``, ``None`` and similar words; all other words stay unchanged."""
    is_regular_case = word.islower() or word.isupper() or word.istitle()
    return _CONSTANTS.get(word.lower(), word) if is_regular_case else word


def _number(number: str) -> str | None:
    """Convert ``1.``, ``.5``, ``+3`` and ``1_000``; a leading zero is ambiguous."""
    match = re.fullmatch(r"([-+]?)(\d[\d_]*)?(?:\.(\d*))?([eE][-+]?\d+)?", number)
    if match is None or (whole := match[2] or "0").endswith("_") or re.match(r"0[\d_]", whole):
        return None
    sign = "-" if match[1] == "-" else ""
    fraction = "" if match[3] is None else f".{match[3] or '0'}"
    return f"{sign}{whole.replace('_', '')}{fraction}{match[4] or ''}"


def _whitespace(space: str) -> str:
    return space if _JSON_WHITESPACE.issuperset(space) else " "


# -- structure -----------------------------------------------------------------------------------------------

_IGNORED = frozenset(("space", "comment"))
_VALUES = frozenset(("string", "quoted", "curly", "number", "word"))


def _neighbours(tokens: list[Token]) -> Iterator[tuple[int, Token, Token, Token]]:
    """Yield every significant token: its index, the previous token, itself, the next token."""
    nothing = ("", "")
    significant = [(index, token) for index, token in enumerate(tokens) if token[0] not in _IGNORED]
    for place, (index, token) in enumerate(significant):
        before = significant[place - 1][1] if place else nothing
        behind = significant[place + 1][1] if place + 1 < len(significant) else nothing
        yield index, before, token, behind


def _ends_value(token: Token) -> bool:
    return token[0] in _VALUES or token[1] in ("}", "]")


def _starts_value(token: Token) -> bool:
    return token[0] in _VALUES or token[1] in ("{", "[")


def _quote_keys(tokens: list[Token]) -> list[str]:
    texts = [text for _, text in tokens]
    for index, before, (kind, text), behind in _neighbours(tokens):
        if kind == "word" and before[1] in ("{", ",") and behind[1] == ":":
            texts[index] = f'"{text}"'
    return texts


def _drop_trailing_commas(tokens: list[Token]) -> list[str]:
    texts = [text for _, text in tokens]
    for index, before, (_, text), behind in _neighbours(tokens):
        if text == "," and _ends_value(before) and behind[1] in ("}", "]"):
            texts[index] = ""
    return texts


def _add_commas(tokens: list[Token]) -> list[str] | None:
    """Insert commas between a value and the next key, and between list items, where whitespace separates them."""
    texts = [text for _, text in tokens]
    opened: list[str] = []
    before_that = ""
    for index, before, token, behind in _neighbours(tokens):
        if _ends_value(before) and _starts_value(token):
            if tokens[index - 1][0] != "space":
                return None
            # In an object, the previous token must end a value, not a key, and a key must follow.
            is_value = before[1] in ("}", "]") or before_that == ":"
            if opened and opened[-1] == "{" and not (is_value and token[0] == "string" and behind[1] == ":"):
                return None
            texts[index] = "," + token[1]
        if token[1] in ("{", "["):
            opened.append(token[1])
        elif token[1] in ("}", "]") and opened:
            opened.pop()
        before_that = before[1]
    return texts


_STEPS: tuple[DecodeStep, ...] = (
    DecodeStep(name="commented_out", order=2, candidates=uncomment),
    DecodeStep(name="full_width", order=4, candidates=narrow_marks),
    DecodeStep(name="invisible", order=6, candidates=drop_invisible),
    DecodeStep(name="quote_entities", order=8, candidates=quote_by_entities),
    DecodeStep(name="doubled_braces", order=9, candidates=halve_braces),
    DecodeStep(name="double_encoded", order=10, candidates=_unwrap_text),
    DecodeStep(name="unescaped_quotes", order=15, candidates=_escape_quotes),
    DecodeStep(name="single_item_list", order=20, candidates=_unwrap_list),
    DecodeStep(name="block_quote", order=25, candidates=drop_quote_marks),
    _step("comments", 30, _each("comment", lambda _: " "), only_with="/#"),
    _step("curly_quotes", 40, _each("curly", _from_curly), only_with="“"),
    _step("single_quotes", 50, _each("quoted", _from_quoted), only_with="'"),
    _step("constants", 60, _each("word", _constant)),
    _step("unquoted_keys", 70, _quote_keys),
    _step("control_characters", 80, _each("string", _escape_controls)),
    _step("escapes", 90, _each("string", _repair_escapes), only_with="\\"),
    _step("numbers", 100, _each("number", _number)),
    _step("whitespace", 110, _each("space", _whitespace)),
    _step("trailing_commas", 120, _drop_trailing_commas, only_with=","),
    _step("missing_commas", 130, _add_commas),
)


@hookimpl
def helmdeck_decode_steps() -> Sequence[DecodeStep]:
    """The steps that repair a response."""
    return _STEPS
