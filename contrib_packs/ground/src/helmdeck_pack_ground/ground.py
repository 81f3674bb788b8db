"""The pack: claims of the text, verdicts with literal quotes, then citations or a rewritten text.

A model proposes; what it returns is checked against the text and the sources. A claim that is not in the text is left out, a quote
that is not in a source is no evidence, and a rewrite replaces the words of a claim only.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import attrs
import msgspec

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode, Question
from helmdeck_pack_ground import prompts
from helmdeck_pack_ground.evidence import (
    MIN_QUOTE_CHARS,
    Passage,
    Source,
    find_span,
    passages,
    relevant,
    rewrite_problem,
)
from helmdeck_pack_ground.fetch import FetchFailed, fetch

NAME: Final = "content.ground"
BATCH: Final = 5
"""Claims per model call."""
MAX_CLAIMS: Final = 40
MAX_SOURCES: Final = 20

_LINK = re.compile(r"https?://[^\s<>()\"'\]]+")
_URL = re.compile(r"\s*https?://\S+\s*")


class ClaimList(msgspec.Struct):
    """The answer to the question for claims."""

    claims: list[str]


class Judgement(msgspec.Struct):
    """One verdict of a model."""

    claim: int
    verdict: Literal["supported", "contradicted", "not found"]
    source: int = 0
    quote: str = ""


class Judgements(msgspec.Struct):
    """The answer to the question for verdicts."""

    verdicts: Annotated[list[Judgement], msgspec.Meta(min_length=1)]


class Rewrite(msgspec.Struct):
    """The new wording of one claim; empty to remove it."""

    claim: int
    text: str


class Rewrites(msgspec.Struct):
    """The answer to the question for rewrites."""

    rewrites: list[Rewrite]


@attrs.frozen
class Claim:
    """A claim at its place in the text.

    :ivar verdict: ``supported``, ``contradicted`` or ``not found``.
    :ivar source: the number of the source of the quote; 0 without one.
    """

    text: str
    start: int
    end: int
    verdict: str = "not found"
    source: int = 0
    quote: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        data: dict[str, Any] = {"claim": self.text, "start": self.start, "end": self.end, "verdict": self.verdict}
        return {**data, "source": self.source, "quote": self.quote} if self.quote else data


INPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The text to check."},
        "sources": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MAX_SOURCES,
            "description": "URLs, or texts of sources. Without any, the links of the text are used.",
        },
        "mode": {
            "type": "string",
            "enum": ["annotate", "rewrite"],
            "default": "annotate",
            "description": "Whether claims are annotated, or unsupported ones are also softened, corrected or removed.",
        },
    },
    "required": ["text"],
    "additionalProperties": False,
}

_CLAIM: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "claim": {"type": "string"},
        "start": {"type": "integer", "description": "Position in the given text, in characters."},
        "end": {"type": "integer"},
        "verdict": {"enum": ["supported", "contradicted", "not found"]},
        "source": {"type": "integer", "description": "Number of the source of the quote."},
        "quote": {"type": "string", "description": "Words that occur literally in the source."},
    },
    "required": ["claim", "start", "end", "verdict"],
    "additionalProperties": False,
}

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The text with citations; in rewrite mode also with new wordings."},
        "claims": {"type": "array", "items": _CLAIM},
        "sources": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "url": {"type": "string"},
                    "characters": {"type": "integer"},
                    "problem": {"type": "string"},
                },
                "required": ["number", "characters"],
            },
        },
        "model": {"type": "string"},
        "findings": {"type": "array", "items": {"type": "string"}, "description": "Left out if there are none."},
    },
    "required": ["text", "claims", "sources", "model"],
    "additionalProperties": False,
}


async def ground(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the claims of a text against sources.

    :raises PackError: ``invalid_input`` for an empty text, or without a source that can be read.
    :raises CallFailed: the model returned nothing usable, or the text is too long for it.
    """
    text = arguments["text"]
    if not text.strip():
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, "text is empty")
    sources = await _sources(context, arguments.get("sources") or _links(text))
    findings: list[str] = [f"source {each.number} was not read: {each.problem}" for each in sources if each.problem]
    usable = [each for each in sources if not each.problem]
    if not usable:
        detail = "; ".join(findings) or "no sources are given, and the text contains no links"
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, f"sources: {detail}")
    context.progress("listing the claims")
    answer = await _ask(context, prompts.CLAIMS, ClaimList, text)
    claims = _located(text, answer.value.claims, findings)
    # Sources have up to 50 MB together; the event loop continues meanwhile.
    every = await asyncio.to_thread(passages, usable)
    judged: list[Claim] = []
    for start in range(0, len(claims), BATCH):
        context.progress(f"checking claims {start + 1} to {min(start + BATCH, len(claims))} of {len(claims)}")
        judged += await _judged(context, claims[start : start + BATCH], start, every, usable, findings)
    new_words: Mapping[int, str] = {}
    if arguments.get("mode", "annotate") == "rewrite":
        new_words = await _rewrites(context, judged, findings)
    output = {
        "text": spliced(text, judged, new_words),
        "claims": [claim.to_dict() for claim in judged],
        "sources": [_source_data(each) for each in sources],
        "model": answer.model,
    }
    return {**output, "findings": findings} if findings else output


async def _sources(context: PackContext, listed: Sequence[str]) -> list[Source]:
    sources = []
    for number, each in enumerate(listed[:MAX_SOURCES], 1):
        if not _URL.fullmatch(each):
            sources.append(Source(number, each, problem="" if each.strip() else "it is empty"))
            continue
        url = each.strip()
        context.progress(f"fetching source {number}")
        try:
            text = await fetch(url)
            sources.append(Source(number, text, url, "" if text.strip() else "the page has no text"))
        except FetchFailed as exc:
            sources.append(Source(number, "", url, str(exc)))
    return sources


def _links(text: str) -> list[str]:
    return list(dict.fromkeys(link.rstrip(".,;:!?") for link in _LINK.findall(text)))


def _source_data(source: Source) -> dict[str, Any]:
    data: dict[str, Any] = {"number": source.number, "characters": len(source.text)}
    return data | {key: value for key, value in (("url", source.url), ("problem", source.problem)) if value}


async def _ask(context: PackContext, task: str, kind: Any, request: str) -> Any:
    question = Question(
        caller=NAME,
        task=task,
        type=kind,
        request=request,
        model=context.model,
        needs_catalog=False,
        schema=_SCHEMAS[task],
    )
    return await context.ask(question)


def _located(text: str, listed: Sequence[str], findings: list[str]) -> list[Claim]:
    """Find the claims in the text; those that are not there, or overlap with another one, are left out."""
    found: dict[tuple[int, int], Claim] = {}
    missing = 0
    for each in listed:
        span = find_span(text, each)
        if span is None:
            missing += 1
        elif not any(start < span[1] and span[0] < end for start, end in found):
            found[span] = Claim(text[slice(*span)], *span)
    if missing:
        findings.append(f"{missing} listed claims are not in the text and were left out")
    claims = [found[span] for span in sorted(found)]
    if len(claims) > MAX_CLAIMS:
        findings.append(f"only the first {MAX_CLAIMS} of {len(claims)} claims were checked")
    return claims[:MAX_CLAIMS]


async def _judged(
    context: PackContext,
    claims: Sequence[Claim],
    offset: int,
    every: Sequence[Passage],
    sources: Sequence[Source],
    findings: list[str],
) -> list[Claim]:
    """Return the claims with their verdicts; without a literal quote, a claim stays ``not found``."""
    shown = await asyncio.to_thread(relevant, [claim.text for claim in claims], every)
    if not shown:
        return list(claims)
    parts = [f"SOURCE {passage.source}\n{passage.text}" for passage in shown]
    listed = "\n".join(f"CLAIM {number}: {claim.text}" for number, claim in enumerate(claims, 1))
    answer = await _ask(context, prompts.VERDICTS, Judgements, "\n\n".join([*parts, listed]))
    verdicts = {each.claim: each for each in reversed(answer.value.verdicts)}
    judged = []
    for number, claim in enumerate(claims, 1):
        each = verdicts.get(number)
        if each is None:
            findings.append(f"claim {offset + number} got no verdict")
        elif each.verdict != "not found":
            evidence = _evidence(each, sources)
            if evidence is None:
                findings.append(f"the quote for claim {offset + number} is not in a source; the verdict was not used")
            else:
                claim = attrs.evolve(claim, verdict=each.verdict, source=evidence[0], quote=evidence[1])
        judged.append(claim)
    return judged


def _evidence(judgement: Judgement, sources: Sequence[Source]) -> tuple[int, str] | None:
    """Return source and literal words of a quote; a wrong number of the source is corrected."""
    if len(judgement.quote.strip()) < MIN_QUOTE_CHARS:
        return None
    for source in sorted(sources, key=lambda each: each.number != judgement.source):
        if span := find_span(source.text, judgement.quote):
            return source.number, source.text[slice(*span)]
    return None


async def _rewrites(context: PackContext, claims: Sequence[Claim], findings: list[str]) -> dict[int, str]:
    """Return new wordings by index of the claim; supported claims are not even shown to the model."""
    wanted = [index for index, claim in enumerate(claims) if claim.verdict != "supported"]
    allowed: dict[int, str] = {}
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        context.progress(f"rewriting {len(batch)} claims")
        lines = [
            f"CLAIM {number} ({claims[index].verdict}): {claims[index].text}"
            + (f"\nQUOTE {number}: {claims[index].quote}" if claims[index].quote else "")
            for number, index in enumerate(batch, 1)
        ]
        answer = await _ask(context, prompts.REWRITES, Rewrites, "\n\n".join(lines))
        proposed = {each.claim: each.text.strip() for each in reversed(answer.value.rewrites)}
        for number, index in enumerate(batch, 1):
            problem = "there is none"
            if number in proposed:
                problem = rewrite_problem(claims[index].text, claims[index].quote, proposed[number])
            if problem:
                findings.append(f"the new wording of claim {index + 1} was not used: {problem}")
            else:
                allowed[index] = proposed[number]
    return allowed


def spliced(text: str, claims: Sequence[Claim], new_words: Mapping[int, str]) -> str:
    """Return the text with new wordings and citations; everything outside of the claims stays as it is."""
    parts: list[str] = []
    position = 0
    for index, claim in enumerate(claims):
        parts.append(text[position : claim.start])
        position = claim.end
        words = new_words.get(index)
        if words == "":
            # The space that separated a removed claim goes with it.
            if parts[-1].endswith(" ") and text[position : position + 1] in ("", " ", "\n"):
                parts[-1] = parts[-1][:-1]
            elif not parts[-1] and text[position : position + 1] == " ":
                position += 1
            continue
        parts.append(claim.text if words is None else words)
        if claim.verdict == "supported" or (claim.verdict == "contradicted" and words):
            parts.append(f" [{claim.source}]")
        elif claim.verdict == "contradicted":
            parts.append(f" [contradicted by {claim.source}]")
        elif words is None:
            parts.append(" [no source]")
    parts.append(text[position:])
    return "".join(parts)


_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    prompts.CLAIMS: {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
        "required": ["claims"],
    },
    prompts.VERDICTS: {
        "type": "object",
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "claim": {"type": "integer"},
                        "verdict": {"type": "string", "enum": ["supported", "contradicted", "not found"]},
                        "source": {"type": "integer"},
                        "quote": {"type": "string"},
                    },
                    "required": ["claim", "verdict", "source", "quote"],
                },
            }
        },
        "required": ["verdicts"],
    },
    prompts.REWRITES: {
        "type": "object",
        "properties": {
            "rewrites": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"claim": {"type": "integer"}, "text": {"type": "string"}},
                    "required": ["claim", "text"],
                },
            }
        },
        "required": ["rewrites"],
    },
}


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Check each claim of a text against sources and attach citations. In rewrite mode, unsupported claims are softened "
        "or removed instead of flagged."
    ),
    run=ground,
    metadata={
        "accepts": ["text", "urls"],
        "produces": ["text", "claims"],
        "intent_keywords": ["fact-check", "verify the claims", "add citations"],
        "typical_use": "Last check before a text leaves the house.",
        "limitations": ["Uses the given sources only", "A verdict is that of a model; its quotes are checked"],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
)
