"""Finds where an SQL statement without quotation marks ends in a sentence: "run SELECT * FROM logs LIMIT 5 and post 'done'"."""

from __future__ import annotations

import re
from typing import Final

# Statements whose grammar is simple enough to be followed; a statement without it keeps its whole text.
_FOLLOWED: Final = re.compile(r"(?:select|insert|update|delete|with|create\s+table)\b", re.IGNORECASE)
_PIECE: Final = re.compile(
    r"(?P<literal>'[^']*'|\"[^\"]*\"|`[^`]*`|-?\d(?:[\w.]*\w)?)|(?P<word>[A-Za-z_][\w$]*(?:\.(?:\*|[A-Za-z_][\w$]*))*)|(?P<mark>\S)"
)
_KEYWORDS: Final = frozenset(
    """
    select from where and or not in is null like ilike between group by order having limit offset join inner left right outer
    full cross natural on using as distinct union all except intersect case when then else end exists asc desc values set into
    insert update delete create table view with recursive over partition rows range returning conflict do nothing default if
    temporary temp without strict true false interval date timestamp current_date current_timestamp glob regexp escape collate
    nulls filter within only for materialized replace ignore abort
    """.split()
)
_OPERATORS: Final = frozenset("=<>!~+-*/%|(")
_CONDITION_WORDS: Final = frozenset(("in", "like", "ilike", "is", "not", "between", "glob", "regexp"))
# Words behind a comma that start what is done next.
_FOLLOWING: Final = frozenset(("and", "then", "afterwards", "next", "after"))
_BEHIND_TABLE: Final = frozenset(("from", "join", "update", "into"))


def sql_end(text: str) -> int:
    """Return the length of the statement that a text starts with; that of the text if no other words follow.

    >>> from helmdeck_language.values.sql import sql_end
    >>> text = "SELECT id FROM logs WHERE level = 'warn' chew through"
    >>> text[: sql_end(text)]
    "SELECT id FROM logs WHERE level = 'warn'"
    """
    if not _FOLLOWED.match(text):
        return len(text)
    pieces = [piece for piece in _PIECE.finditer(text) if not piece.group().isspace()]
    depth, has_source = 0, False
    for place, piece in enumerate(pieces[1:], 1):
        own, before = piece.group(), pieces[place - 1]
        if own in "()":
            depth += 1 if own == "(" else -1
        elif depth == 0 and place > 1:
            follows_operand = before.lastgroup == "literal" or before.group() in (")", "*") or _is_name(before)
            if has_source and follows_operand and not _continues(pieces, place):
                return before.end()
        word = own.lower()
        has_source = has_source or word in ("from", "values", "set") or (word == "table" and place == 1)
    return len(text)


def _is_name(piece: re.Match[str]) -> bool:
    return piece.lastgroup == "word" and piece.group().lower() not in _KEYWORDS


def _continues(pieces: list[re.Match[str]], place: int) -> bool:
    """Whether a word or mark behind a name or value of a statement belongs to it."""
    piece, before = pieces[place], pieces[place - 1]
    word = piece.group().lower()
    following = pieces[place + 1] if place + 1 < len(pieces) else None
    if word == ",":
        # "GROUP BY region, and post ..."
        return following is None or following.lastgroup != "word" or following.group().lower() not in _FOLLOWING
    if word == ".":
        return following is None or following.start() == piece.end()  # else the end of a sentence
    if piece.lastgroup == "mark":
        return True
    if word in ("first", "last"):
        return before.group().lower() == "nulls"
    if piece.lastgroup == "literal" or _is_name(piece):
        behind_table = _is_name(before) and pieces[place - 2].group().lower() in _BEHIND_TABLE
        return behind_table and _is_name(piece) and _is_alias(pieces, place)
    if word in ("and", "or"):
        return following is None or _is_condition(pieces, place + 1)
    if word in ("in", "exists"):
        return following is not None and following.group() == "("
    if word in ("on", "for", "with", "as", "if", "do", "by", "all", "only", "without"):
        earlier = {each.group().lower() for each in pieces[:place]}
        return (
            word == "as"
            or (word == "on" and bool({"join", "into"} & earlier))
            or (word == "for" and _is_update(following))
        )
    return True


def _is_update(following: re.Match[str] | None) -> bool:
    return following is not None and following.group().lower() == "update"


def _is_alias(pieces: list[re.Match[str]], place: int) -> bool:
    """Whether a word behind a table is its other name: a column of it, or a keyword, follows."""
    name = f"{pieces[place].group().lower()}."
    following = pieces[place + 1].group().lower() if place + 1 < len(pieces) else ""
    return any(each.group().lower().startswith(name) for each in pieces) or following in (
        "where",
        "join",
        "inner",
        "left",
    )


def _is_condition(pieces: list[re.Match[str]], start: int) -> bool:
    """Whether a condition, or the end of "between 1 and 5", starts at a place, rather than a verb: "and post 'done'"."""
    first = pieces[start]
    if first.lastgroup != "word" or first.group().lower() in _KEYWORDS:
        return True
    if start > 2 and pieces[start - 3].group().lower() == "between":
        return True
    following = pieces[start + 1].group().lower() if start + 1 < len(pieces) else "="
    return following[0] in _OPERATORS or following in _CONDITION_WORDS
