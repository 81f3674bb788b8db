"""Decode steps that repair malformed or wrapped JSON where only one value can be meant.

Most steps work on tokens, so the inside of a string is changed only if the string itself is malformed. A text with one
character outside any token is never changed, and no step completes truncated JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from helmdeck_core import DecodeStep, hookimpl
from helmdeck_reading.json_repair.tokens import (
    COMMENT,
    CURLY,
    NUMBER,
    QUOTED,
    SPACE,
    STRING,
    WORD,
    Tokens,
    keep_tokens,
    tokens_of,
)
from helmdeck_reading.json_repair.wrapped import (
    MAX_LENGTH,
    drop_invisible,
    drop_quote_marks,
    halve_braces,
    narrow_marks,
    quote_by_entities,
    uncomment,
    unwrap_answer,
)
from helmdeck_reading.strict_json import is_json

_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_ESCAPED_CONTROL = re.compile(r"(?<!\\)(?:\\\\)*+\\[\x00-\x1f]")
_JSON_WHITESPACE = frozenset(" \t\r\n")
_CONSTANTS = {"true": "true", "false": "false", "none": "null", "null": "null"}

Rewrite = Callable[[Tokens], "Tokens | None"]
"""Returns the tokens of the repaired text, or ``None`` if it cannot repair the input."""


def _step(name: str, order: int, rewrite: Rewrite, *, only_with: str = "") -> DecodeStep:
    """Return a step that rewrites tokens; it has no candidate if nothing changes.

    :param only_with: the step runs only for texts with one of these characters, to skip most of them.
    """

    def candidates(text: str) -> Iterator[str]:
        if len(text) > MAX_LENGTH or text[:1] not in ("{", "[") or (only_with and not any(map(text.count, only_with))):
            return
        if is_json(text):
            return  # of another shape, which no rewritten token changes
        tokens = tokens_of(text)
        rewritten = rewrite(tokens) if tokens else None
        if rewritten is not None and (changed := "".join(rewritten.texts)) != text:
            if rewritten.kinds:
                keep_tokens(changed, rewritten)
            yield changed

    return DecodeStep(name=name, order=order, candidates=candidates)


def _each(kind: str, change: Callable[[str], str | None], *, becomes: str = "", only_if: str = "") -> Rewrite:
    """Change every token of one kind; if a change returns ``None``, the text is not repaired.

    :param becomes: the kind of the changed tokens, where it is another one.
    :param only_if: a pattern of the tokens that may change.
    """
    may_change = re.compile(only_if).search

    def rewrite(tokens: Tokens) -> Tokens | None:
        changes = {text: change(text) for text in tokens.of_kind(kind) if may_change(text)}
        if not changes or None in changes.values():
            return None
        new = {text: changed or text for text, changed in changes.items()}
        texts = list(map(new.get, tokens.texts, tokens.texts))
        return Tokens(tokens.kinds.replace(kind, becomes or kind), texts)

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


def _escape_controls(text: str) -> str | None:
    """Escape control characters; one after a backslash is a line continuation or content, which is ambiguous."""
    if _ESCAPED_CONTROL.search(text):
        return None
    return _CONTROL.sub(lambda char: json.dumps(char.group())[1:-1], text)


def _repair_escapes(text: str) -> str | None:
    r"""Double backslashes that start no JSON escape.

    In a Windows path or a formula with such a backslash, a ``\n`` or ``\f`` next to it may not be an escape either; the
    text is ambiguous then, and is not repaired.
    """
    escapes = _ESCAPE.findall(text)
    if any(map(_is_plain_letter, escapes)) and any(
        escape[1] in "bfnrtu" and _is_json_escape(escape) for escape in escapes
    ):
        return None
    return _ESCAPE.sub(lambda escape: _repaired_escape(escape.group()), text)


def _is_json_escape(escape: str) -> bool:
    return escape[1] in '"\\/bfnrt' or (escape[1] == "u" and len(escape) == 6)


def _is_plain_letter(escape: str) -> bool:
    r"""Whether an escape such as ``\d`` is valid in no string syntax."""
    return escape[1].isalpha() and not _is_json_escape(escape) and _code_point(escape) is None


def _code_point(escape: str) -> int | None:
    """Return the code point of an escape that Python and JavaScript have, but not JSON; ``None`` for any other."""
    code_point = int(escape[2:], 16) if escape[1] in "xU" and len(escape) > 2 else None
    return None if code_point is None or code_point > 0x10FFFF else code_point


def _repaired_escape(escape: str) -> str:
    if _is_json_escape(escape):
        return escape
    if escape == "\\'":
        return "'"
    if (code_point := _code_point(escape)) is not None:
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
    if len(text) > MAX_LENGTH or text[:1] not in ("{", "[") or is_json(text):
        return
    if (tokens := tokens_of(text)) and not _BESIDE_STRING.search(tokens.structure):
        return  # a quote in a string leaves a string and something else without a comma between them
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


_NUMBER = re.compile(r"([-+]?)(\d[\d_]*)?(?:\.(\d*))?([eE][-+]?\d+)?")


def _constant(word: str) -> str:
    """Convert ``True``, ``FALSE``, ``None`` and similar words; all other words stay unchanged."""
    is_regular_case = word.islower() or word.isupper() or word.istitle()
    return _CONSTANTS.get(word.lower(), word) if is_regular_case else word


def _number(number: str) -> str | None:
    """Convert ``1.``, ``.5``, ``+3`` and ``1_000``; a leading zero is ambiguous."""
    match = _NUMBER.fullmatch(number)
    if match is None or (whole := match[2] or "0").endswith("_") or (whole[0] == "0" and len(whole) > 1):
        return None
    sign = "-" if match[1] == "-" else ""
    fraction = "" if match[3] is None else f".{match[3] or '0'}"
    return f"{sign}{whole.replace('_', '')}{fraction}{match[4] or ''}"


def _whitespace(space: str) -> str:
    return space if _JSON_WHITESPACE.issuperset(space) else " "


# -- structure -----------------------------------------------------------------------------------------------

_KEY = re.compile(r"[{,][ #]*+(w)(?=[ #]*+:)")
_TRAILING_COMMA = re.compile(r"[squnw}\]][ #]*+(,)(?=[ #]*+[}\]])")
_MISSING_COMMA = re.compile(r"[squnw}\]](?=[ #]*+([squnw{\[]))")
_STRUCTURE = re.compile(r"[^ #]")
"""Tokens of which some are wrong, by their kinds."""

_BESIDE = re.compile(r"[squnw}\]][squnw{\[]")
_BESIDE_STRING = re.compile(r"s[squnw{\[]|[squnw}\]]s")
"""Tokens without a comma between them, by their kinds without whitespace and comments."""


def _quote_keys(tokens: Tokens) -> Tokens | None:
    if "w:" not in tokens.structure:
        return None
    texts, kinds = list(tokens.texts), list(tokens.kinds)
    for match in _KEY.finditer(tokens.kinds):
        at = match.start(1)
        texts[at], kinds[at] = f'"{texts[at]}"', STRING
    return Tokens("".join(kinds), texts)


def _drop_trailing_commas(tokens: Tokens) -> Tokens | None:
    if ",}" not in tokens.structure and ",]" not in tokens.structure:
        return None
    texts, kinds = list(tokens.texts), list(tokens.kinds)
    for match in _TRAILING_COMMA.finditer(tokens.kinds):
        at = match.start(1)
        texts[at], kinds[at] = "", SPACE
    return Tokens("".join(kinds), texts)


def _add_commas(tokens: Tokens) -> Tokens | None:
    """Insert commas between a value and the next key, and between list items, where whitespace separates them."""
    kinds = tokens.kinds
    if not _BESIDE.search(tokens.structure):
        return None
    texts = list(tokens.texts)
    opened: list[str] = []
    done = 0
    for match in _MISSING_COMMA.finditer(kinds):
        end, index = match.start(), match.start(1)
        if kinds[index - 1] != SPACE:
            return None
        _follow_brackets(opened, kinds[done:index])
        done = index
        if opened and opened[-1] == "{":
            # In an object, the token before must end a value, not a key, and a key must follow.
            is_value = kinds[end] in "}]" or _structure_before(kinds, end) == ":"
            following = _STRUCTURE.search(kinds, index + 1)
            is_key = kinds[index] == STRING and following is not None and following.group() == ":"
            if not (is_value and is_key):
                return None
        texts[index] = "," + texts[index]
    return Tokens("", texts)  # a comma and its value are two tokens, to be read again


def _follow_brackets(opened: list[str], kinds: str) -> None:
    """Add the brackets that these tokens open, and remove those that they close."""
    if len(kinds) > _FEW_TOKENS:
        # Pairs without content change nothing.
        kinds = kinds.translate(_WITHOUT_VALUES).replace("{}", "").replace("[]", "").replace("{}", "")
    for kind in kinds:
        if kind in "{[":
            opened.append(kind)
        elif kind in "}]" and opened:
            opened.pop()


def _structure_before(kinds: str, index: int) -> str:
    """The last token before ``index`` that is neither whitespace nor a comment; empty if there is none."""
    while index and kinds[index - 1] in " #":
        index -= 1
    return kinds[index - 1] if index else ""


_FEW_TOKENS = 64
_WITHOUT_VALUES = {ord(kind): None for kind in " #squnw,:"}


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
    _step("comments", 30, _each(COMMENT, lambda _: " ", becomes=SPACE), only_with="/#"),
    _step("curly_quotes", 40, _each(CURLY, _from_curly, becomes=STRING), only_with="“"),
    _step("single_quotes", 50, _each(QUOTED, _from_quoted, becomes=STRING), only_with="'"),
    _step("unquoted_keys", 60, _quote_keys),  # before constants: ``True`` as a key is a name
    _step("constants", 70, _each(WORD, _constant, only_if="(?i)^(?:true|false|none|null)$")),
    _step("control_characters", 80, _each(STRING, _escape_controls, only_if=_CONTROL.pattern)),
    _step("escapes", 90, _each(STRING, _repair_escapes, only_if=r"\\"), only_with="\\"),
    _step("numbers", 100, _each(NUMBER, _number, only_if=r"[^0-9]|^0")),
    _step("whitespace", 110, _each(SPACE, _whitespace, only_if=r"[^ \t\r\n]")),
    _step("trailing_commas", 120, _drop_trailing_commas, only_with=","),
    _step("missing_commas", 130, _add_commas),
    DecodeStep(name="wrapper", order=140, candidates=unwrap_answer),  # last: what it unwraps must be valid
)


@hookimpl
def helmdeck_decode_steps() -> Sequence[DecodeStep]:
    """The steps that repair a response."""
    return _STEPS
