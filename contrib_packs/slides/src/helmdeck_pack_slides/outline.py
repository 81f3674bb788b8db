"""The pack: requests the outline, checks it and reports what does not hold. Nothing is truncated or added."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import attrs
import msgspec

from helmdeck_core import Answer, CallFailed, LengthTruncated, Pack, PackContext, PackError, PackErrorCode, Question
from helmdeck_pack_slides.extract import FINDING, extract_outline
from helmdeck_pack_slides.prompts import TASK

NAME: Final = "slides.outline"
NO_WRITER: Final = "unsupported_task"
"""The sub-cause of a model that plans and does not write."""

MAX_BULLETS: Final = 6
MAX_BULLET_WORDS: Final = 20
"""More bullets, or longer ones, are a finding: they do not fit on a slide."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Slide(msgspec.Struct):
    """One slide of a model's answer."""

    message: Text
    bullets: list[str] = msgspec.field(default_factory=list)
    notes: str = ""


class Outline(msgspec.Struct):
    """The answer of a model."""

    title: Text
    slides: Annotated[list[Slide], msgspec.Meta(min_length=1)]


_STRINGS: Final[Mapping[str, Any]] = {"type": "array", "items": {"type": "string"}}

SLIDE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"message": {"type": "string"}, "bullets": _STRINGS, "notes": {"type": "string"}},
    "required": ["message", "bullets", "notes"],
}

ANSWER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "slides": {"type": "array", "items": SLIDE_SCHEMA}},
    "required": ["title", "slides"],
}

INPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The source, as Markdown or plain text."},
        "slide_count": {"type": "integer", "minimum": 3, "maximum": 60, "description": "Number of slides."},
        "audience": {"type": "string", "description": "The audience, e.g. executives or new colleagues."},
    },
    "required": ["text"],
    "additionalProperties": False,
}

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "slides": {"type": "array", "items": SLIDE_SCHEMA, "description": "The slides in their order."},
        "outline": {"type": "string", "description": "The same as Markdown."},
        "model": {"type": "string", "description": "The model that wrote the outline."},
        "findings": {
            **_STRINGS,
            "description": "Requirements that the outline does not meet; left out if it meets all.",
        },
    },
    "required": ["title", "slides", "outline", "model"],
    "additionalProperties": False,
}


async def outline(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Outline a slide deck for a text.

    :raises PackError: ``invalid_input`` for an empty text.
    :raises CallFailed: the model returned nothing usable, or the text is too long for it.
    """
    text, count = arguments["text"], arguments.get("slide_count")
    audience = " ".join(arguments.get("audience", "").split())
    if not text.strip():
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, "text is empty")
    context.progress(f"outlining {len(text.split()):,} words")
    question = Question(
        caller=NAME,
        task=TASK,
        type=Outline,
        schema=ANSWER_SCHEMA,
        request=text,
        context=requirements(count, audience),
        model=context.model,
        needs_catalog=False,
    )
    try:
        answer = await context.ask(question)
    except LengthTruncated as exc:
        detail = "the outline does not fit into the output limit: set slide_count to fewer slides"
        raise attrs.evolve(exc, detail="; ".join(filter(None, (exc.detail, detail)))) from exc
    except CallFailed as exc:
        if exc.sub_cause != NO_WRITER:
            raise
        title, slides = await asyncio.to_thread(extract_outline, text, count)
        output = {"title": title, "slides": slides, "outline": markdown(title, slides), "model": exc.model}
        return {**output, "findings": [FINDING]}
    return _output(answer, text, count)


def _output(answer: Answer[Outline], text: str, count: int | None) -> Mapping[str, Any]:
    value = answer.value
    slides = [
        {
            "message": " ".join(slide.message.split()),
            "bullets": [" ".join(bullet.split()) for bullet in slide.bullets if bullet.strip()],
            "notes": slide.notes.strip(),
        }
        for slide in value.slides
    ]
    title = " ".join(value.title.split())
    output = {"title": title, "slides": slides, "outline": markdown(title, slides), "model": answer.model}
    found = findings(title, slides, count, text)
    return {**output, "findings": found} if found else output


def requirements(count: int | None, audience: str) -> str:
    """Return the requirements, one per line."""
    lines = [f"Audience: {audience or 'people who do not know the text'}"]
    if count is not None:
        lines.append(f"Number of slides: exactly {count}")
    return "\n".join(lines)


def findings(title: str, slides: list[dict[str, Any]], count: int | None, text: str) -> list[str]:
    """Return what an outline does not meet: the number of slides, their size, and figures that the text does not contain."""
    found = []
    if count is not None and len(slides) != count:
        found.append(f"the outline has {len(slides)} slides, not {count}")
    for number, slide in enumerate(slides, 1):
        if len(slide["bullets"]) > MAX_BULLETS:
            found.append(f"slide {number} has {len(slide['bullets'])} bullets, the maximum is {MAX_BULLETS}")
        longest = max((len(bullet.split()) for bullet in slide["bullets"]), default=0)
        if longest > MAX_BULLET_WORDS:
            found.append(f"slide {number} has a bullet of {longest} words, the maximum is {MAX_BULLET_WORDS}")
    messages = [slide["message"].casefold() for slide in slides]
    repeated = [str(number) for number, message in enumerate(messages, 1) if message in messages[: number - 1]]
    if repeated:
        found.append(f"slides that repeat a message: {', '.join(repeated)}")
    known = set(_NUMBER.findall(text))
    written = " ".join([title, *(" ".join([each["message"], *each["bullets"], each["notes"]]) for each in slides)])
    # Small numbers count things, such as "three reasons".
    unknown = [each for each in dict.fromkeys(_NUMBER.findall(written)) if each not in known and len(each) > 1]
    if unknown:
        found.append(f"figures that are not in the text: {', '.join(unknown)}")
    return found


def markdown(title: str, slides: list[dict[str, Any]]) -> str:
    """Return the outline as Markdown."""
    parts = [f"# {title}"]
    for number, slide in enumerate(slides, 1):
        lines = [f"## {number}. {slide['message']}", "", *(f"- {bullet}" for bullet in slide["bullets"])]
        parts.append("\n".join(lines).rstrip())
        if slide["notes"]:
            parts.append("\n".join(f"> {line}" for line in slide["notes"].splitlines()))
    return "\n\n".join(parts) + "\n"


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Plan a slide deck: one message per slide with bullets and speaker notes. "
        "Follows the argument of the source, not its order."
    ),
    run=outline,
    metadata={
        "accepts": ["text"],
        "produces": ["outline"],
        "intent_keywords": ["outline a presentation", "plan a deck", "slides about"],
        "typical_use": "A finished text that is to be presented.",
        "limitations": ["Adds no facts", "The text must fit into one model call"],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
)
