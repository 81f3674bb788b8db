"""Secrets: API keys of known services, private keys, tokens, and passwords in URLs and settings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from helmdeck_core import Guard, GuardFinding, GuardServices, GuardSpec
from helmdeck_guards.plain_text import PlainText


@attrs.frozen(kw_only=True)
class SecretOptions:
    """The options of ``secrets``.

    :ivar settings: passwords and keys in settings such as ``password = "..."`` are secrets, too.
    """

    settings: bool = True


_FORMATS: Final = (
    ("ghp_", r"[A-Za-z0-9]{30,255}"), ("gho_", r"[A-Za-z0-9]{30,255}"), ("ghu_", r"[A-Za-z0-9]{30,255}"),
    ("ghs_", r"[A-Za-z0-9]{30,255}"), ("ghr_", r"[A-Za-z0-9]{30,255}"), ("github_pat_", r"[A-Za-z0-9_]{22,255}"),
    ("glpat-", r"[\w-]{20,64}"), ("AKIA", r"[A-Z0-9]{16}"), ("ASIA", r"[A-Z0-9]{16}"), ("xox", r"[abeoprs]-[A-Za-z0-9-]{10,250}"),
    ("xapp-", r"[A-Za-z0-9-]{20,250}"), ("AIza", r"[\w-]{35}"), ("ya29.", r"[\w-]{20,512}"), ("GOCSPX-", r"[\w-]{20,64}"),
    ("npm_", r"[A-Za-z0-9]{36}"), ("pypi-", r"[\w-]{40,255}"), ("SG.", r"[\w-]{16,64}\.[\w-]{16,64}"), ("SK", r"[0-9a-f]{32}"),
    ("dop_v1_", r"[0-9a-f]{64}"), ("eyJ", r"[\w-]{10,2048}\.[\w-]{10,4096}\.[\w-]{10,1024}"),
    ("whsec_", r"[A-Za-z0-9+/=]{20,100}"), ("dckr_pat_", r"[\w-]{20,64}"), ("pplx-", r"[A-Za-z0-9]{40,64}"),
    ("csk-", r"[a-z0-9]{40,64}"), ("tgp_v1_", r"[\w-]{40,64}"), ("tvly-", r"[\w-]{28,64}"), ("lin_api_", r"[A-Za-z0-9]{40}"),
    ("ntn_", r"[A-Za-z0-9]{40,64}"), ("glsa_", r"[A-Za-z0-9]{32}_[0-9a-f]{8}"), ("hvs.", r"[\w-]{24,256}"), ("dapi", r"[0-9a-f]{32}"),
    ("shpat_", r"[0-9a-f]{32}"), ("figd_", r"[\w-]{40,64}"), ("AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    ("hooks.slack.com/services/", r"T[A-Z0-9]{6,16}/B[A-Z0-9]{6,16}/[A-Za-z0-9]{20,32}"),
    ("discord.com/api/webhooks/", r"[0-9]{16,20}/[\w-]{60,80}"),
)  # fmt: skip
"""Formats of keys and tokens by prefix, besides those that plugins contribute for redaction."""
_ATTRIBUTE: Final = re.compile(r"(?:[^\W\d]\w*\.)+(?:[^\W\d_]+|[^\W\d]*_\w*)")
_PLACEHOLDER: Final = re.compile(
    r"(?i)\$[a-z({].*|%[sd(].*|.*[\[{].*[\]}].*|[*x.]+|pass|password|passwd|pwd|secret|pw|token|key"
)
"""Placeholders for the password of a URL in documentation and in templates."""
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.{0,8192}?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,128}:([^\s/@\"'<>]{3,256})@(?=\w)")
_JOINED: Final = "\u3001\u3002\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Letters and marks of Japanese, Chinese and Korean, which stand beside a value without a space."""
# Detectors read look-alikes of Latin letters as these, so the words have them, too.
_NAMES: Final = PlainText(
    r"(?i:(?:api[ _-]?key|secret(?:[ _-]?key)?|access[ _-]?(?:token|key)|auth[ _-]?token|authorization|"
    r"token|password|passwd|passwort|kennwort|pwd|mot de passe|contraseña|clave|senha|palavra-passe|wachtwoord|hasło|heslo|lösenord|"
    r"şifre|parola|пароль|密码|密碼|パスワード|비밀번호|पासवर्ड|كلمة (?:المرور|السر)|"
    r"[?&](?:x-(?:amz|goog)-(?:signature|security-token)|sig|signature)(?==)))"
).plain
_BEFORE_VALUE: Final = r"[\"']?(?: is| ist| est| es| è| é| to|是|为|為|は|는|은)?\s{0,3}[:=]?\s{0,3}[\"'`]?(?:(?i:bearer|basic|token)\s{1,3})?"
_VALUE: Final = rf"(?:(?!&[\w.-]{{1,64}}=)[^\s\"'`,;<>{{}}()\[\]{_JOINED}])"
_SETTING: Final = re.compile(rf"{_NAMES}{_BEFORE_VALUE}(?<=[\s:=\"'`{_JOINED}])({_VALUE}{{8,256}})")
_SETTING_END: Final = re.compile(rf"{_NAMES}{_BEFORE_VALUE}{_VALUE}{{0,256}}$")
_MAX_SETTING: Final = 400
"""Characters of the name and the value of a setting at most."""
_URL_END: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}:(?:/(?:/[^\s/]{0,384})?)?$")
_PRIVATE_END: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}(?:PRIVATE KEY.{0,8192})?$|-{1,5}(?:B|BE|BEG|BEGI|BEGIN)?$", re.DOTALL
)
_RUN: Final = re.compile(r"[A-Za-z0-9]{12,}")
_ESCAPE: Final = r"(?<=\\[bfnrt])"
"""After the escape of a line break or the like, which the text has as two characters, as in source code and in JSON inside JSON."""
_START: Final = rf"(?:(?<![A-Za-z0-9])|{_ESCAPE})"
_LITERAL: Final = re.compile(r"(?:\\b)?([A-Za-z0-9]+)(\[[_-]{2}\](?![?*{]))?")
_CUES: Final = tuple(
    PlainText(
        "key token authori secret passw kennwort pwd passe contrase clave senha palavra-passe wachtwoord hasło heslo lösenord şifre "
        "parola пароль 密码 密碼 パスワード 비밀번호 पासवर्ड كلمة sig= signature="
    ).plain.split()
)
"""Parts of the names of settings that hold secrets; a text without any is not searched for settings."""
_QUANTIFIED: Final = re.compile(r"[?*{]")
_MAX_TOKEN: Final = 8_192


def _is_random(text: str) -> bool:
    """Whether a run of letters and digits looks generated: with digits and letters, or with changing case."""
    for run in _RUN.findall(text):
        changes = sum(left.islower() != right.islower() for left, right in itertools.pairwise(run))
        has_both = any(char.isdigit() for char in run) and any(char.isalpha() for char in run)
        if (has_both and changes >= 2) or changes >= 5:
            return True
    return False


def _is_password(text: str) -> bool:
    """Whether the value of a setting is a password, and not a word, a name or a reference."""
    lower = text.lower()
    if lower.startswith(("$", "%", "env:", "file:", "http", "os.", "process.", "***", "your")) or "redacted" in lower:
        return False
    text = text.rstrip(".!?:")
    kinds = sum(any(test(char) for char in text) for test in (str.islower, str.isupper, str.isdigit))
    marks = sum(not char.isalnum() and char not in "._-/" for char in text)
    return len(text) >= 8 and (
        kinds == 3
        or (kinds == 2 and any(c.isdigit() for c in text))
        or (marks >= 1 and kinds >= 1 and any(c.isdigit() for c in text))
    )


def _is_code(text: str, start: int, stop: int) -> bool:
    """Whether the value of a setting is an expression of a program: a call, an index, or the attribute of an object."""
    value = text[start:stop]
    if text[start - 1] in "\"'`" or _is_random(value):
        return False
    is_called = text[stop : stop + 1] in ("(", "[") and ("_" in value or "." in value)
    return is_called or _ATTRIBUTE.fullmatch(value) is not None


def _after_escapes(pattern: str) -> str:
    """Return a pattern for a word that also matches after an escape."""
    return rf"(?:\b|{_ESCAPE}){pattern[2:]}" if pattern.startswith(r"\b") else pattern


def _literal_prefixes(pattern: str) -> tuple[str, ...]:
    """Return what all matches of a pattern begin with; empty if that is unknown."""
    match = _LITERAL.match(pattern)
    if match is None or "|" in pattern:
        return ()
    if match[2]:
        return (f"{match[1]}-", f"{match[1]}_")
    literal = match[1][:-1] if _QUANTIFIED.match(pattern, match.end()) else match[1]
    return (literal,) if literal else ()


def _end_of(prefixes: Iterable[str]) -> re.Pattern[str]:
    """Matches the end of a word that is a token with a prefix, or the start of a prefix."""
    every = sorted(set(prefixes), key=len, reverse=True)
    starts = sorted({each[:size] for each in every for size in range(1, len(each))}, key=len, reverse=True)
    whole = "|".join(map(re.escape, every))
    return re.compile(rf"{_START}(?:(?:{whole})[\w.*+/=-]{{0,{_MAX_TOKEN}}}|{'|'.join(map(re.escape, starts))})$")


def finder(
    options: SecretOptions, services: GuardServices
) -> tuple[Callable[[str], list[GuardFinding]], Callable[[str], int]]:
    """Return the functions ``find`` and ``held_from``."""
    known = [(prefix, re.compile(f"{_START}{re.escape(prefix)}{rest}(?![A-Za-z0-9])")) for prefix, rest in _FORMATS]
    # One row for each prefix: a row whose prefix is not in the text costs 30 ns. An empty prefix is in every text.
    contributed = [
        (
            prefix,
            re.compile(_after_escapes(each.pattern), re.ASCII),
        )  # so that a key may follow a letter of another script
        for each in services.secret_patterns
        for prefix in _literal_prefixes(each.pattern) or ("",)
    ]
    prefixes = [prefix for prefix, _ in [*known, *contributed]]
    token_end = _end_of(prefixes) if all(prefixes) else re.compile(r".+$", re.DOTALL)

    def find(text: str) -> list[GuardFinding]:
        spans = list[tuple[str, int, int]]()
        for prefix, pattern in known:
            if prefix in text:
                spans += [("api_key", *match.span()) for match in pattern.finditer(text)]
        for prefix, pattern in contributed:
            if prefix in text:
                spans += [("api_key", *match.span()) for match in pattern.finditer(text) if _is_random(match[0])]
        if "-----BEGIN" in text:
            spans += [("private_key", *match.span()) for match in _PRIVATE_KEY.finditer(text)]
        if "://" in text:
            spans += [
                ("password", *each.span(1)) for each in _URL.finditer(text) if not _PLACEHOLDER.fullmatch(each[1])
            ]
        if options.settings and _has_cue(text):
            spans += [
                ("password", *each.span(1))
                for each in _SETTING.finditer(text)
                if _is_password(each[1]) and not _is_code(text, *each.span(1))
            ]
        return [GuardFinding(*span) for span in spans]

    def held_from(text: str) -> int:
        size = len(text)
        held = size
        if size and not text[-1].isspace():
            word = text.rsplit(None, 1)[-1][-_MAX_TOKEN:]
            for end in (token_end, *([_URL_END] if ":" in word else ())):
                if match := end.search(word):
                    held = min(held, size - len(word) + match.start())
        if "-----" in text or text.endswith("-"):
            match = _PRIVATE_END.search(text)
            held = min(held, match.start()) if match else held
        if options.settings and _has_cue(text) and (match := _SETTING_END.search(text, max(0, size - _MAX_SETTING))):
            held = min(held, match.start())
        return held

    return find, held_from


def _has_cue(text: str) -> bool:
    lower = text.lower()
    for cue in _CUES:  # noqa: SIM110 - a generator takes three times as long, and this runs for each chunk
        if cue in lower:
            return True
    return False


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
