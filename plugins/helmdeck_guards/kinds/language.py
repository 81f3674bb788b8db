"""The languages that requests and answers may have."""

from __future__ import annotations

from typing import Final

import attrs

from helmdeck_core import ConfigError, Guard, GuardFinding, GuardServices, GuardSpec, GuardSubject, Mistake, Role
from helmdeck_language import detect, fold, knows, words

LANGUAGES: Final = ("en", "de", "fr", "es")
_READ_CHARS, _MIN_WORDS, _MIN_SHARE = 4_000, 4, 0.15
_AFTER_LATIN: Final = "\u0250"


@attrs.frozen(kw_only=True)
class LanguageOptions:
    """The options of ``language``.

    :ivar allow: codes of languages: ``en``, ``de``, ``fr``, ``es``.
    :ivar allows_unknown: texts whose language is unknown are allowed, such as code, a few words, and other languages.
    :ivar window_chars: characters of a streamed answer that are held back until its language is known.
    """

    allow: tuple[str, ...] = ()
    allows_unknown: bool = True
    window_chars: int = 200


def language_of(text: str) -> str:
    """Return the code of the language of a text; empty if it is unknown."""
    text = text[:_READ_CHARS]
    letters = [char for char in text if char.isalpha()]
    if sum(char >= _AFTER_LATIN for char in letters) * 2 > len(letters):
        return ""
    every = [fold(word) for word in words(text)]
    found = detect(every)
    known = knows(found, every)
    return found.code if len(every) >= _MIN_WORDS and known >= max(2, _MIN_SHARE * len(every)) else ""


def _open(options: LanguageOptions, _: GuardServices) -> Guard:
    wrong = [each for each in options.allow if each not in LANGUAGES]
    if wrong or not options.allow:
        found = ", ".join(map(repr, wrong)) or "none"
        raise ConfigError((Mistake("allow", "not a list of known languages", found, ", ".join(LANGUAGES)),))

    async def check(subject: GuardSubject) -> list[GuardFinding]:
        if subject.stage == "request":  # instructions of an application may be in another language than its users
            users = [message.text for message in subject.request.messages if message.role is Role.USER]
            text = users[-1] if users else ""
        else:
            text = "\n".join(subject.texts)
        language = language_of(text)
        if language in options.allow or (not language and options.allows_unknown):
            return []
        return [GuardFinding(f"language_{language or 'unknown'}")]

    return Guard(check=check, window_chars=options.window_chars)


LANGUAGE: Final = GuardSpec(
    name="language", options=LanguageOptions, open=_open, summary="languages that are allowed", order=40
)
