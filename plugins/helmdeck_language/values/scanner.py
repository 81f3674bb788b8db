"""Scans a request into words and values: quoted strings, URLs, paths, dates, numbers, code and the like.

A value is one token, so that nothing later splits or matches its content.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import Final

import attrs

from helmdeck_language.text.terms import fold
from helmdeck_language.values.dates import DATE, TIME
from helmdeck_language.values.sql import sql_end


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    QUOTE = "quote"
    CODE = "code"
    SQL = "sql"
    URL = "url"
    EMAIL = "email"
    PHONE = "phone"
    DATE = "date"
    TIME = "time"
    EXPRESSION = "expression"
    GLOB = "glob"
    PATH = "path"
    SLUG = "slug"
    HASH = "hash"
    ID = "id"
    NUMBER = "number"
    MARK = "mark"
    BREAK = "break"


@attrs.frozen
class Token:
    """A word or value with its place in the request.

    :ivar value: the text without quotation marks and fences.
    :ivar word: the folded text of a word; for another kind the text.

    >>> from helmdeck_language import scan
    >>> scan("open 12 files")[1]
    Token(kind=<Kind.NUMBER: 'number'>, start=5, end=7, value='12', word='12')
    """

    kind: Kind
    start: int
    end: int
    value: str
    word: str

    @property
    def is_word(self) -> bool:
        """Whether it is a word of a language."""
        return self.kind is Kind.WORD

    @property
    def is_capital(self) -> bool:
        """Whether it starts with a capital letter."""
        return self.value[:1].isupper()

    @property
    def is_possessive(self) -> bool:
        """Whether it ends with "'s"."""
        return self.value.endswith(("'s", "\u2019s"))

    @property
    def is_value(self) -> bool:
        """Whether it is a value, and neither a word nor punctuation."""
        return self.kind not in (Kind.WORD, Kind.MARK, Kind.BREAK)


# Lengths are bounded, so that unclosed quotation marks and the like are scanned once.
_SQL_END: Final = (
    r"(?=[,.]?\s+(?:and\s+)?(?:then|afterwards|after\s+(?:it|that|this))\b|;|\n\s*\n|[.?!,:\u2026]{0,3}\s*\Z|,?\s+(?-i:and)\s+[a-z]+\s+(?:(?:the|an?|my|all|it|me|them|to)\b|\")"
    r"|\s+(?-i:on|in|against|from)\s+(?:the\s+|my\s+)?(?:\w+\s+)?(?:database|db)\b)"
)
_SQL: Final = (
    r"(?-i:SELECT\b[^\0]{1,400}?\bFROM\b)|select\s+(?:\*|count\s*\()|(?-i:SELECT)\s+\S+\s*" + _SQL_END,
    r"select\s+[\w.*()]+(?:\s*,\s*[\w.*()]+)+\s+from\s+\w",
    r"select\s+(?!the\b|an?\b|all\b)[\w.*(), ]{1,100}?\sfrom\s+\w+\s+(?:where\s+\w+\s*[=<>]|group\s+by\s|order\s+by\s|limit\s+\d)",
    r"insert\s+into\s+\S+\s*(?:\(|values|(?-i:SELECT))|update\s+\S+\s+set\s+\S+\s*=|delete\s+from\s+\S+(?=\s+where\b|\s*;|\s*\Z)",
    r"with\s+\w+\s+as\s*\(\s*select\b",
    r"create\s+(?:table|view|index)\s+(?:if\s+not\s+exists\s+)?\S+\s*(?:\(|on\b|as\b)",
    r"(?-i:DROP|ALTER|CREATE|TRUNCATE)\s+(?-i:TABLE|VIEW|INDEX)\s+\S+",
)
# Quotation marks and brackets belong to a URL in pairs, or inside of a word: "https://example.org/a_(b)".
_URL_PART: Final = r"[^\s()\[\]'<>\"`\u2018-\u201f\u2026\u00ab\u00bb]|\([^\s()]{0,200}\)|\[[^\s\[\]]{0,200}\]|'[^\s']{0,200}'(?!\w)|[()\[\]'\u2019](?=\w)"
# Code without marks. Brackets and quotation marks are in pairs, brackets at most five deep.
_STRING: Final = r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`"
_INNER_CODE: Final = functools.reduce(
    lambda inner, _: (
        rf"(?:{_STRING}|\({inner}{{0,200}}\)|\[{inner}{{0,200}}\]|\{{{inner}{{0,200}}\}}|[^()\[\]{{}}'\"`\n])"
    ),
    range(3),
    rf"(?:{_STRING}|[^()\[\]{{}}'\"`\n])",
)
_BRACKETS: Final = rf"\({_INNER_CODE}{{0,300}}\)|\[{_INNER_CODE}{{0,300}}\]|\{{{_INNER_CODE}{{0,400}}\}}"
_TERM: Final = rf"(?:{_BRACKETS}|{_STRING}|[\w$]|[.!](?=[\w$])|\?\.)"
_GLOBALS: Final = "document|window|navigator|localStorage|sessionStorage|performance"
# JavaScript: an arrow function, or an expression on a global object.
_JS: Final = (
    rf"(?:(?:async\ )?(?:\([\w\s,$={{}}\[\]]{{0,80}}\)|(?P<arg>[a-z_$][\w$]{{0,30}})(?=\s?=>[^\n]{{0,80}}\b(?P=arg)\b))\s?=>\s?{_TERM}{{1,400}}"
    rf"|(?<![\w.])(?:{_GLOBALS})\.{_TERM}{{1,400}})"
    rf"(?:\s(?:===?|!==?|[<>]=?|[-+*/%]|&&|\|\||\?|:)\s{_TERM}{{1,200}}){{0,6}}"
)
# Queries of metrics and logs: sum(rate(requests_total[5m])), {app="web"} |= "timeout".
_SELECTOR: Final = r"(?:[a-z_:][\w:]{0,80})?\{[a-z_]\w{0,60}\s?(?:=~?|!=|!~)\s?\"[^\"\n]{0,200}\"[^{}\n]{0,200}\}(?:\[\w{1,10}\]|\s?\|[=~>]?\s?\"[^\"\n]{0,200}\"){0,6}"
_GROUPS: Final = r"\s(?:by|without)\s?\([\w,\s]{1,100}\)"
_METRIC: Final = rf"(?<![\w.])[a-z]\w{{1,60}}\((?=[^\n()]{{0,80}}[\[({{])(?:{_INNER_CODE}){{1,300}}\)(?:{_GROUPS})?|(?<![\w.])[a-z]{{3,20}}{_GROUPS}\s?\((?:{_INNER_CODE}){{1,300}}\)"
# Queries that are compared or divided: up{job="a"} == 0, sum(rate(a[5m])) / sum(rate(b[5m])).
_QUERY: Final = rf"(?:{_SELECTOR}|{_METRIC})(?:\s(?:==|!=|[<>]=?|[-+*/])\s(?:{_SELECTOR}|{_METRIC}|\d[\d.]{{0,20}}(?![\w.]))){{0,4}}"
# A schedule of cron with at least one "*".
_CRON: Final = r"(?<![\w*/])(?=[\d ,/-]{0,20}\*)(?:(?:\*|\d{1,2})[\d,/*-]{0,12}\ ){4}(?:\*|\d)[\d,/*-]{0,12}(?![\w*])"
# Conditions joined by AND or OR in capitals: project = WEB AND assignee is EMPTY.
_CONDITION: Final = r"(?<![\w.])[A-Za-z]\w{0,40}\s?(?:[!<>]?=|!?~|[<>]|(?:\snot)?\sin\b|\sis(?:\snot)?\b)\s?(?:\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|\([^()\n]{1,200}\)|[\w.@-]{1,60}(?:\(\))?)"
_CONDITIONS: Final = (
    rf"{_CONDITION}(?:\s(?-i:AND|OR)\s{_CONDITION}){{1,10}}(?:\s(?-i:ORDER\sBY)\s\w{{1,40}}(?:\s(?:ASC|DESC))?)?"
)
# A regular expression between slashes; a path has none of its marks.
_REGEX: Final = r"(?<![\w/.])/(?=(?:\\/|[^/\n]){0,200}(?:\\[a-z.]|\[[^\]\n]+\]|\.[*+]|\|))(?:\\.|[^/\\\n]){1,200}/[gimsuy]{0,6}(?![\w/])"
# A call without a blank before its bracket, and a field of a formula: TODO(release), {Stage} = 'Won'; "file(s)" is none.
_CALL: Final = r"(?<![\w./-])[A-Za-z_][\w.]{1,60}(?<!\.)\((?!e?s\))(?:[^\s(),]|,\ ?){0,80}\)(?![\w-])"
_OF_FIELD: Final = (
    r"\{[A-Za-z][\w \-]{0,40}\}\s?(?:[!<>]?=|[<>])\s?(?:'[^'\n]{0,100}'|\"[^\"\n]{0,100}\"|-?\d[\d.]{0,20})"
)
_FORMULA: Final = rf"(?-i:AND|OR|NOT|IF)\((?:{_INNER_CODE}){{1,300}}\)|{_OF_FIELD}"
# Nine tenths of all patterns, and what the text of each has.
_EXPRESSIONS: Final = rf"(?-i:{_JS}|{_QUERY})|"
_FORMULAS: Final = rf"{_FORMULA}|"
_OF_BRACKETED_CODE: Final = re.compile(rf"[({{]|=>|(?:{_GLOBALS})\.")
# At least seven digits in groups, behind "+", a zero or an area code in brackets; "0930 2026" is a time and a year.
_PHONE: Final = (
    r"(?<![\w.+])(?=(?:[^\w\n]{0,2}\d){7})(?!0\d{3}\ (?:19|20)\d\d\b)(?:\+\d{1,3}[ ./-]?(?:\(\d{1,5}\)[ ./-]?)?\d{1,14}(?:[ ./-]\d{2,8}){0,5}"
    r"|0\d{2,5}[ /]\d{2,9}(?:[ -]\d{2,6}){0,4}|\(\d{3}\)\ ?\d{3}-\d{4})(?![\w/])(?!\.\d)"
)
_PATTERNS: Final = (
    ("PHONE", _PHONE),
    (
        "CODE",
        (
        r"```[^\n`]{0,20}\n(?P<fenced>[^\0]*?)\n?\s*```|`(?P<ticked>[^`\n]{1,400})`"
        rf"|{_EXPRESSIONS}{_CRON}|{_CONDITIONS}|{_REGEX}|{_FORMULAS}{_CALL}"
        # A position of chess in FEN.
        r"|(?<![\w/])(?:[pnbrqk1-8]{1,8}/){7}[pnbrqk1-8]{1,8}(?:\ [wb]\ (?:-|[kq]{1,4})\ (?:-|[a-h][36])(?:\ \d{1,3}\ \d{1,4})?)?(?![\w/])"
        ),
    ),
    (
        "QUOTE",
        (
        r'"(?P<q1>[^"]{1,2000})"|\u201c(?P<q2>[^\u201d]{1,2000})\u201d|\u201e(?P<q3>[^\u201c\u201d]{1,2000})[\u201c\u201d]'
        r"|\u00ab\s?(?P<q4>[^\u00bb]{1,2000}?)\s?\u00bb|(?<!\w)'(?P<q5>[^'\n]{1,200})'(?!\w)"
        r"|(?<!\w)\u2018(?P<q6>[^\u2019\n]{1,200})\u2019(?!\w)"
        ),
    ),
    ("URL", rf"(?<!\w)(?:\w{{1,12}}://|www\.)(?:{_URL_PART}){{1,2000}}(?<![.,;:!?])|mailto:\S{{1,200}}"),
    ("EMAIL", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    ("SQL", rf"\b(?:{'|'.join(_SQL)})(?:[^\0]{{0,4000}}?){_SQL_END}"),
    ("DATE", DATE),
    ("TIME", TIME),
    ("EXPRESSION", r"=[A-Za-z]{1,20}\([^)\n]{0,200}\)|(?<![\w.])(?!(?:\d{1,3}\.){3}\d)[\d(][\d .()]{0,40}?(?:\*{1,2}|\^|\ [+/-]\ |[+/])[\d .+*/^()%-]{0,120}[\d)]"),
    ("GLOB", r"(?<!\w)(?:[\w./:-]{0,100}\*{1,2}[\w./*?:-]{0,100}[\w*]|[\w./:-]{1,100}\*)(?![\w(])"),
    (
        "PATH",
        (
        r"(?<![\w/:.@])(?:[A-Za-z]:\\[\w.\\-]{0,200}[\w\\-]|(?:~|\.{1,2})?/(?:[\w.@+-]{1,100}/){0,40}[\w.@+-]{0,99}[\w-]/?(?!\w)"
        r"|(?:[\w.-][\w.@+-]{0,99}/(?:[\w.@+-]{1,100}/){0,39})?[\w.-]{0,100}[\w-]\.(?!\d)[A-Za-z][A-Za-z0-9]{0,4}(?![\w/@]|\.\w)|(?:[\w.-]{1,100}/){2,40}[\w-]{0,100}"
        r"|[\w.-]{1,100}/(?=[\s,;?!)]|\.?(?:\s|\Z))|(?-i:Makefile|Dockerfile|Jenkinsfile|Procfile|Gemfile|Rakefile|Vagrantfile|Pipfile|CODEOWNERS|LICENSE)(?![\w/.])|(?<!\.)\.(?:env|[a-z][a-z_-]{0,20}(?:rc|ignore|attributes|config|version|access|profile|keep))(?:\.[a-z]{1,12}){0,2}(?![\w/])|~(?=[\s,;.]|\Z)|/(?=\s|\Z))"
        ),
    ),
    ("SLUG", r"(?<![\w/:.@-])(?:@(?=[\w.-]{1,100}/))?[A-Za-z_][\w.-]{0,99}/[\w.-]{0,99}[\w](?![\w/@])"),
    ("HASH", r"(?<![\w&])\#\w[\w-]{0,80}"),
    (
        "ID",
        (
        r"(?<![\w.-])(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\d{8,}\.\d{3,}"
        r"|(?:HEAD(?:[~^]\d{0,3}){0,5}|[0-9a-f]{7,40}|v\d[\w.-]{0,30}):[\w./-]{1,200}(?<=\w)|HEAD(?:[~^]\d{0,3}){1,5}|[\w./-]{1,60}@\{[^}\s]{1,20}\}"
        # Versions, image tags, Base64 and percent-encoded text.
        r"|(?:\w{0,60}%[0-9A-Fa-f]{2}){1,40}[\w.~-]{0,200}"
        r"|(?:\d{1,3}\.){3}\d{1,3}/\d{1,2}|v?\d{1,9}(?:\.\d{1,9}){2,4}(?:[-+.]?[A-Za-z][\w.+-]{0,40})?|v\d{1,9}\.\d{1,9}(?:-[A-Za-z]\w{0,30})?|\d{1,4}(?:\.\d{1,4}){1,3}-(?:(?:alpine|slim|lts|rc|beta|alpha|stable|dev|snapshot|nightly|jdk|jre|fpm)[\w.]{0,20}|[a-z]{1,8}\d[\w.]{0,20})|[A-Za-z0-9+/]{6,400}={1,2}(?![=\w])"
        r"|\d{1,6}_\d{1,6}(?!\w)|[A-Za-z_][\w-]{0,40}:v?\d[\w.]{0,30}(?:-\w{1,20}){1,3}|[A-Za-z_]\w{0,40}(?::\w{1,40}(?:\.\d{1,9}){0,3}){1,4}|(?=\w{0,40}\d|[\w-]{0,40}-\w{0,40}\d)"
        r"(?=[\w-]{0,60}[A-Za-z])(?:[A-Za-z0-9]{1,40}(?:[-_][A-Za-z0-9]{1,40}){1,8}(?:(?<=\d)(?:\.\d{1,9}){1,4})?|[A-Za-z0-9]{6,64}))(?![\w])"
        ),
    ),
    (
        "NUMBER",
        (
        r"(?<![\w.])(?:[$\u20ac\u00a3\u00a5]?-?\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,30})?(?!\w)"
        # A decimal comma, where a sign or a unit shows that it is none of a list; "$1.5k".
        r"|[$\u20ac\u00a3\u00a5]-?\d{1,30}(?:\.\d{3}){0,9},\d{1,2}(?!\w)|-?\d{1,30}(?:\.\d{3}){0,9},\d{1,2}(?=\s?(?:\u20ac|%|\u00b0|(?:eur|euros?|kg|g|km|cm|mm|m|ml|l)(?!\w)))"
        r"|[$\u20ac\u00a3\u00a5]\d{1,6}(?:\.\d{1,3})?[km](?!\w)"
        r"|[$\u20ac\u00a3\u00a5]?-?\d{1,30}(?:\.\d{1,30})?(?![\w])%?)"
        ),
    ),
    ("BREAK", r"\n\s*"),
    ("WORD", (r"(?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u109f\u1780-\u17d3]){1,200}"
     r"(?:['\u2019\u2010-](?=[^\W\d_])[^\W_]{1,60}|_[^\W_]{1,60}|\.(?=[a-z])\w{1,60})*")),
    ("MARK", r"[^\s\w]"),
)  # fmt: skip
# French and Italian articles and pronouns that are joined to the next word.
_ELISION: Final = re.compile(r"(?:[ldnjmtsc]|qu)['\u2019](?=\w)", re.IGNORECASE)
_INNER: Final = ("fenced", "ticked", "q1", "q2", "q3", "q4", "q5", "q6")


@cache
def _token(has_bracketed_code: bool) -> re.Pattern[str]:
    """The pattern of a token; to compile all of it takes a tenth of a plan, and few requests have code with brackets."""
    pattern = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS)
    if not has_bracketed_code:
        pattern = pattern.replace(_EXPRESSIONS, "").replace(_FORMULAS, "")
    return re.compile(pattern, re.IGNORECASE)


def scan(text: str) -> list[Token]:
    """Return the tokens of a request in order.

    >>> from helmdeck_language import scan
    >>> [(token.kind.name, token.value) for token in scan("mail 3 files to ann@example.org")]
    [('WORD', 'mail'), ('NUMBER', '3'), ('WORD', 'files'), ('WORD', 'to'), ('EMAIL', 'ann@example.org')]
    """
    found: list[Token] = []
    place = 0
    token = _token(_OF_BRACKETED_CODE.search(text) is not None)
    while match := token.search(text, place):
        found += _tokens(match)
        # Words behind an SQL statement are scanned again.
        place = found[-1].end
    return found


def _tokens(match: re.Match[str]) -> Iterator[Token]:
    kind = Kind[match.lastgroup or ""]  # the outer group, which ends last
    start, end, found = match.start(), match.end(), match.group()
    if kind in (Kind.CODE, Kind.QUOTE):
        inner = next((match[name] for name in _INNER if match[name] is not None), found)
        yield Token(kind, start, end, inner, inner)
    elif kind is Kind.WORD:
        if elided := _ELISION.match(found):
            cut = elided.end()
            yield Token(kind, start, start + cut, found[:cut], fold(found[: cut - 1]))
            start, found = start + cut, found[cut:]
        yield Token(kind, start, end, found, fold(found))
    elif kind in (Kind.EXPRESSION, Kind.SQL):
        value = found.strip() if kind is Kind.EXPRESSION else found[: sql_end(found)]
        yield Token(kind, start, start + len(value), value, value)
    else:
        yield Token(kind, start, end, found, found)
