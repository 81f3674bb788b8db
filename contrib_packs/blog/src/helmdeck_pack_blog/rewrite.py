"""The pack: asks for the rewritten text, then checks what was wished for and reports what is not met.

Nothing is cut to fit, neither the text on its way in nor the answer on its way out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import attrs
import msgspec

from helmdeck_core import LengthTruncated, Pack, PackContext, PackError, PackErrorCode, Question
from helmdeck_pack_blog.prompts import TASK

NAME: Final = "blog.rewrite_for_audience"

Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Rewrite(msgspec.Struct):
    """A rewritten text as a model writes it."""

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
        "audience": {"type": "string", "description": "Who is to read it, e.g. executives or first-year students."},
        "max_words": {"type": "integer", "minimum": 1, "description": "How long the body may be."},
        "keep_terms": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "Terms that must appear letter for letter.",
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
        "changes": {"type": "array", "items": {"type": "string"}, "description": "What was changed, and why."},
        "word_count": {"type": "integer", "description": "Words of the body."},
        "model": {"type": "string", "description": "The model that was asked."},
        "findings": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Wishes that the text does not meet; left out when it meets all.",
        },
    },
    "required": ["title", "body", "changes", "word_count", "model"],
    "additionalProperties": False,
}


async def rewrite(context: PackContext, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrite a text for an audience.

    :raises PackError: ``invalid_input`` for a blank text or audience.
    :raises CallFailed: the model gave nothing usable, or the text is more than it can take.
    """
    for name in ("text", "audience"):
        if not given[name].strip():
            raise PackError(NAME, PackErrorCode.INVALID_INPUT, f"{name} is blank")
    text, terms, most = given["text"], given.get("keep_terms", ()), given.get("max_words")
    context.progress(f"rewriting {count_words(text):,} words for {given['audience']}")
    question = Question(
        caller=NAME,
        task=TASK,
        type=Rewrite,
        schema=ANSWER_SCHEMA,
        request=text,
        context=wishes(given["audience"], most, terms),
        model=context.model,
        needs_catalog=False,
    )
    try:
        answer = await context.ask(question)
    except LengthTruncated as exc:
        detail = (
            f"a rewrite is about as long as the text, which has {count_words(text):,} words: split it, or set max_words"
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
    found = findings(value, most, terms)
    return {**output, "findings": found} if found else output


def wishes(audience: str, max_words: int | None, keep_terms: Sequence[str]) -> str:
    """What is wished for, one line each."""
    lines = [f"Readers: {' '.join(audience.split())}"]
    if max_words is not None:
        lines.append(f"Length of the body: at most {max_words} words")
    if keep_terms:
        quoted = (f'"{term}"' for term in keep_terms)
        lines.append(f"Terms to keep: {', '.join(quoted)}")
    return "\n".join(lines)


def findings(rewritten: Rewrite, max_words: int | None, keep_terms: Sequence[str]) -> list[str]:
    """Which wishes a text does not meet."""
    found = []
    words = count_words(rewritten.body)
    if max_words is not None and words > max_words:
        found.append(f"the body has {words:,} words, {max_words:,} were allowed")
    missing = [term for term in keep_terms if term not in rewritten.body and term not in rewritten.title]
    if missing:
        found.append(f"terms that were to be kept are missing: {', '.join(missing)}")
    return found


def count_words(text: str) -> int:
    """Count what white space separates and what holds a letter or a digit, so that Markdown's own marks do not count."""
    return sum(any(char.isalnum() for char in word) for word in text.split())


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Rework an existing post for another group of readers, e.g. executives, beginners or developers. "
        "Meaning and links stay; vocabulary, depth and examples change."
    ),
    run=rewrite,
    metadata={
        "accepts": ["markdown", "text"],
        "produces": ["markdown"],
        "intent_keywords": ["rewrite for beginners", "adapt the post for", "make it less technical"],
        "typical_use": "A finished post that other people than its first readers should understand.",
        "limitations": [
            "Adds no facts of its own",
            "One text that fits the model at once",
            "Counts words by white space",
        ],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
)
