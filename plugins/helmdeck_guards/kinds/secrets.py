"""Secrets: API keys of known services, private keys, tokens, and passwords in URLs and settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import attrs

from helmdeck_core import Guard, GuardFinding, GuardServices, GuardSpec


@attrs.frozen(kw_only=True)
class SecretOptions:
    """The options of ``secrets``.

    :ivar settings: passwords and keys in settings such as ``password = "..."`` are secrets, too.
    """

    settings: bool = True


_FORMATS: Final = (
    r"gh[pousr]_[A-Za-z0-9]{30,255}", r"github_pat_[A-Za-z0-9_]{22,255}", r"glpat-[\w-]{20,64}", r"A(?:KIA|SIA)[A-Z0-9]{16}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,250}", r"xapp-[A-Za-z0-9-]{20,250}", r"AIza[\w-]{35}", r"ya29\.[\w-]{20,512}", r"GOCSPX-[\w-]{20,64}",
    r"npm_[A-Za-z0-9]{36}", r"pypi-[\w-]{40,255}", r"SG\.[\w-]{16,64}\.[\w-]{16,64}", r"SK[0-9a-f]{32}", r"dop_v1_[0-9a-f]{64}",
    r"eyJ[\w-]{10,2048}\.[\w-]{10,4096}\.[\w-]{10,1024}", r"whsec_[A-Za-z0-9+/=]{20,100}", r"dckr_pat_[\w-]{20,64}",
)  # fmt: skip
"""Formats of keys and tokens, besides those that plugins contribute for redaction."""
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.{0,8192}?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL
)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,128}:([^\s/@\"'<>]{3,256})@(?=\w)")
_NAMES: Final = (
    r"(?i:(?<![A-Za-z])(?:[a-z0-9]{1,24}[_-])?(?:api[ _-]?key|secret(?:[ _-]?key)?|access[ _-]?(?:token|key)|auth[ _-]?token|"
    r"token|password|passwd|passwort|kennwort|pwd|mot de passe|contraseña|clave))"
)
_SETTING: Final = re.compile(_NAMES + r"[\"']?(?: is| ist| est| es)?\s{0,3}[:=]?\s{0,3}[\"'`]?(?<=[\s:=\"'`])([^\s\"'`,;<>{}()\[\]]{8,256})")
_SETTING_END: Final = re.compile(_NAMES + r"[\"']?(?: is| ist| est| es)?\s{0,3}[:=]?\s{0,3}[\"'`]?[^\s\"'`,;<>{}()\[\]]{0,256}$")
_URL_END: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}:(?:/(?:/[^\s/]{0,384})?)?$")
_PRIVATE_END: Final = re.compile(r"-----BEGIN [A-Z ]{0,40}(?:PRIVATE KEY.{0,8192})?$|-{1,5}(?:B|BE|BEG|BEGI|BEGIN)?$", re.DOTALL)
_RUN: Final = re.compile(r"[A-Za-z0-9]{12,}")
_LITERAL: Final = re.compile(r"(?:\\b)?([A-Za-z0-9]+)")
_QUANTIFIED: Final = re.compile(r"[?*{]")
_MAX_TOKEN: Final = 8_192


def _is_random(text: str) -> bool:
    """Whether a run of letters and digits looks generated: with digits and letters, or with changing case."""
    for run in _RUN.findall(text):
        changes = sum(left.islower() != right.islower() for left, right in zip(run, run[1:], strict=False))
        has_both = any(char.isdigit() for char in run) and any(char.isalpha() for char in run)
        if (has_both and changes >= 2) or changes >= 5:
            return True
    return False


def _is_password(text: str) -> bool:
    """Whether the value of a setting is a password, and not a word, a name or a reference."""
    if text.startswith(("$", "%", "env:", "file:", "http", "os.", "process.", "***")) or "redacted" in text.lower():
        return False
    text = text.rstrip(".!?:")
    kinds = sum(any(test(char) for char in text) for test in (str.islower, str.isupper, str.isdigit))
    marks = sum(not char.isalnum() and char not in "._-/" for char in text)
    return len(text) >= 8 and (kinds == 3 or (kinds == 2 and any(c.isdigit() for c in text)) or (marks >= 1 and kinds >= 1 and any(c.isdigit() for c in text)))


def _literal_prefix(pattern: str) -> str:
    """Return what all matches of a pattern begin with; empty if that is unknown."""
    match = _LITERAL.match(pattern)
    if match is None or "|" in pattern:
        return ""
    return match[1][:-1] if _QUANTIFIED.match(pattern, match.end()) else match[1]


def _prefixes() -> Iterator[str]:
    yield from ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "xox", "xapp-", "AIza", "ya29.", "GOCSPX-")
    yield from ("npm_", "pypi-", "SG.", "SK", "dop_v1_", "eyJ", "whsec_", "dckr_pat_")


def _end_of(prefixes: Iterable[str]) -> re.Pattern[str]:
    """Matches the end of a text that is a token with a prefix, or the start of a prefix."""
    every = sorted(set(prefixes), key=len, reverse=True)
    starts = sorted({each[:size] for each in every for size in range(1, len(each))}, key=len, reverse=True)
    whole = "|".join(map(re.escape, every))
    return re.compile(rf"(?<![A-Za-z0-9])(?:(?:{whole})[\w.*+/=-]{{0,{_MAX_TOKEN}}}|{'|'.join(map(re.escape, starts))})$")


def finder(options: SecretOptions, services: GuardServices) -> tuple[Callable[[str], list[GuardFinding]], Callable[[str], int]]:
    """Return the functions ``find`` and ``held_from``."""
    contributed = [each.pattern for each in services.secret_patterns]
    known = re.compile("|".join(f"(?<![A-Za-z0-9])(?:{each})(?![A-Za-z0-9])" for each in _FORMATS))
    others = re.compile("|".join(f"(?:{each})" for each in contributed)) if contributed else None
    prefixes = [*_prefixes(), *map(_literal_prefix, contributed)]
    token_end = _end_of(filter(None, prefixes)) if all(prefixes) else re.compile(rf"\S{{1,{_MAX_TOKEN}}}$")

    def find(text: str) -> list[GuardFinding]:
        spans = [("api_key", *match.span()) for match in known.finditer(text)]
        if others is not None:
            spans += [("api_key", *match.span()) for match in others.finditer(text) if _is_random(match[0])]
        if "-----BEGIN" in text:
            spans += [("private_key", *match.span()) for match in _PRIVATE_KEY.finditer(text)]
        if "://" in text:
            spans += [("password", *match.span(1)) for match in _URL.finditer(text)]
        if options.settings:
            spans += [("password", *match.span(1)) for match in _SETTING.finditer(text) if _is_password(match[1])]
        return _apart(spans)

    def held_from(text: str) -> int:
        ends = [token_end, _PRIVATE_END, _URL_END, *([_SETTING_END] if options.settings else [])]
        return min([match.start() for end in ends if (match := end.search(text))], default=len(text))

    return find, held_from


def _apart(spans: list[tuple[str, int, int]]) -> list[GuardFinding]:
    """The findings in order; overlapping ones become one."""
    found = list[GuardFinding]()
    for kind, start, stop in sorted(spans, key=lambda span: (span[1], -span[2])):
        if found and start < found[-1].stop:
            last = found.pop()
            found.append(GuardFinding(last.kind, last.start, max(stop, last.stop)))
        else:
            found.append(GuardFinding(kind, start, stop))
    return found


def _open(options: SecretOptions, services: GuardServices) -> Guard:
    find, held_from = finder(options, services)
    return Guard(find=find, held_from=held_from)


SECRETS: Final = GuardSpec(
    name="secrets",
    options=SecretOptions,
    open=_open,
    summary="API keys, tokens, private keys, and passwords in URLs and settings",
    order=0,
)
