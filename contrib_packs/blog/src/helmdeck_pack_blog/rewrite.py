"""The pack: requests the rewritten text, checks the requirements and reports those that are not met.

Neither the input nor the output is ever truncated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import attrs
import msgspec

from helmdeck_core import LengthTruncated, Pack, PackContext, PackError, PackErrorCode, Question
from helmdeck_pack_blog.prompts import TASK

NAME: Final = "blog.rewrite_for_audience"

_LINK = re.compile(r"https?://[^\s<>()\"'\]]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Rewrite(msgspec.Struct):
    """The rewritten text of a model."""

    title: Text
    body: Text
    changes: list[str] = msgspec.field(default_factory=list)


ANSWER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "body": {"type": "string"},
        "changes": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title", "body", "changes"],
}

INPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The post, as Markdown or plain text."},
        "audience": {"type": "string", "description": "The readers, e.g. executives or first-year students."},
        "max_words": {"type": "integer", "minimum": 1, "description": "Maximum length of the body."},
        "keep_terms": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "Terms that must appear verbatim.",
        },
    },
    "required": ["text", "audience"],
    "additionalProperties": False,
}

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "body": {"type": "string", "description": "Markdown without the title."},
        "changes": {"type": "array", "items": {"type": "string"}, "description": "Changes and their reasons."},
        "word_count": {"type": "integer", "description": "Number of words of the body."},
        "model": {"type": "string", "description": "The model that wrote the text."},
        "findings": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Requirements that the text does not meet; left out if it meets all.",
        },
    },
    "required": ["title", "body", "changes", "word_count", "model"],
    "additionalProperties": False,
}


async def rewrite(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrite a text for an audience.

    :raises PackError: ``invalid_input`` for an empty text or audience.
    :raises CallFailed: the model returned nothing usable, or the text is too long for it.
    """
    for name in ("text", "audience"):
        if not arguments[name].strip():
            raise PackError(NAME, PackErrorCode.INVALID_INPUT, f"{name} is empty")
    text, terms, max_words = arguments["text"], arguments.get("keep_terms", ()), arguments.get("max_words")
    context.progress(f"rewriting {count_words(text):,} words for {arguments['audience']}")
    question = Question(
        caller=NAME,
        task=TASK,
        type=Rewrite,
        schema=ANSWER_SCHEMA,
        request=text,
        context=requirements(arguments["audience"], max_words, terms),
        model=context.model,
        needs_catalog=False,
    )
    try:
        answer = await context.ask(question)
    except LengthTruncated as exc:
        detail = (
            f"a rewrite is about as long as the text of {count_words(text):,} words: split the text, or set max_words"
        )
        raise attrs.evolve(exc, detail="; ".join(filter(None, (exc.detail, detail)))) from exc
    value = answer.value
    output = {
        "title": value.title.strip(),
        "body": value.body.strip(),
        "changes": value.changes,
        "word_count": count_words(value.body),
        "model": answer.model,
    }
    found = findings(value, max_words, terms, text)
    return {**output, "findings": found} if found else output


def requirements(audience: str, max_words: int | None, keep_terms: Sequence[str]) -> str:
    """Return the requirements, one per line."""
    lines = [f"Audience: {' '.join(audience.split())}"]
    if max_words is not None:
        lines.append(f"Length of the body: at most {max_words} words")
    if keep_terms:
        quoted = (f'"{term}"' for term in keep_terms)
        lines.append(f"Terms to keep: {', '.join(quoted)}")
    return "\n".join(lines)


def findings(rewritten: Rewrite, max_words: int | None, keep_terms: Sequence[str], text: str) -> list[str]:
    """Return the requirements that a rewritten text does not meet: its length, terms, links and figures."""
    found = []
    written = f"{rewritten.title}\n{rewritten.body}"
    words = count_words(rewritten.body)
    if max_words is not None and words > max_words:
        found.append(f"the body has {words:,} words, the maximum is {max_words:,}")
    if missing := [term for term in keep_terms if term not in written]:
        found.append(f"terms to keep are missing: {', '.join(missing)}")
    if missing := [link for link in _links(text) if link not in written]:
        found.append(f"links are missing: {', '.join(missing)}")
    if added := [link for link in _links(written) if link not in text]:
        found.append(f"links were added: {', '.join(added)}")
    known = _NUMBER.findall(text)
    if added := [each for each in dict.fromkeys(_NUMBER.findall(written)) if len(each) > 1 and each not in known]:
        found.append(f"figures that are not in the text: {', '.join(added)}")
    return found


def _links(text: str) -> list[str]:
    """Return the URLs of a text without repetitions."""
    return list(dict.fromkeys(match.rstrip(".,;:!?") for match in _LINK.findall(text)))


def count_words(text: str) -> int:
    """Count whitespace-separated words with a letter or a digit, so that Markdown markup does not count."""
    return sum(any(char.isalnum() for char in word) for word in text.split())


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Rewrite an existing post for another audience, e.g. executives, beginners or developers. "
        "Meaning and links stay; vocabulary, depth and examples change."
    ),
    run=rewrite,
    metadata={
        "accepts": ["markdown", "text"],
        "produces": ["markdown"],
        "intent_keywords": ["rewrite for beginners", "adapt the post for", "make it less technical"],
        "typical_use": "A finished post that another audience should understand.",
        "limitations": [
            "Adds no facts",
            "The text must fit into one model call",
            "Counts words by whitespace",
        ],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
)
