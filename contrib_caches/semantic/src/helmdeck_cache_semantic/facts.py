"""The words of a question, which vectors blur: two questions are the same if they have the same words in the same order.

A list of words that matter, such as numbers and negations, is never complete, and would be one per language. The lists here are of
what does not matter, so a word that is missing costs a hit and not a wrong answer: in languages other than English, only case and
the punctuation at the end may differ.
"""

from __future__ import annotations

import re
from typing import Final

_MATERIAL: Final = re.compile(r"""["“”„«»「」『』`\n]|(?<!\w)['‘]|[:：](?!\S)""")
"""The start of what a question is about: a quotation, code, or text after a colon. It must be equal."""
_END: Final = re.compile(r"(?<=\w)!+$|[.?…。？！\s]+$")
_START: Final = re.compile(r"^[¿¡\s]+")
_WORD: Final = re.compile(r"[A-Z]?[^\W\d_A-Z]+(?:['’-][^\W\d_A-Z]+)*,?|I")
"""Other strings, such as names in capital letters, numbers, paths and operators, must be equal."""

_FRAMES: Final = tuple(
    (re.compile(pattern), normal)
    for pattern, normal in (
        (r"^(?:(?:hi|hello|hey|thanks|thank you|please)[,.!]* )+", ""),
        (r"(?:,? (?:please|thanks|thank you))+$", ""),
        (r"^(who|what|where|when|how)['’]s ", r"\1 is "),
        (
            r"^(?:can|could|would|will) you (?:please )?(?=(?:tell|show|give|explain|describe|define|list|write|name|translate|help) )",
            "",
        ),
        (r"^(?:tell me|show me|explain) (?=how to )", ""),
        (r"^(?:how to|how (?:do|can|could) i|what is the way to(?! the)|what are the steps to(?! the)) ", "how "),
        (r"^where (?:do|can|could) i ", "where i "),
        (r"^which ", "what "),
        (r"(?<= )(?:a|an|the|do|does) ", ""),
        (r"^(?:a|an|the) ", ""),
    )
)
"""What is replaced in the words of a question, in this order: greetings, contractions, and words without a meaning of their own."""


def facts_of(text: str) -> tuple[str, str]:
    """Return the words of a question as a string, and what it is about, such as a quotation."""
    found = _MATERIAL.search(text)
    start, material = (text[: found.start()], text[found.start() :].rstrip()) if found else (_END.sub("", text), "")
    strings = _START.sub("", start).split()
    words = " ".join(each.lower() if _WORD.fullmatch(each) else each for each in strings)
    for pattern, normal in _FRAMES:
        words = pattern.sub(normal, words)
    return words, material


def same_facts(first: str, second: str) -> bool:
    """Return whether two questions have the same words."""
    return facts_of(first) == facts_of(second)
