"""The chooser ``words``: the model names one of the ranker's first entries, and nothing else.

The response is constrained to the names of these entries, which is the smallest schema of a choice: the model cannot invent a tool,
and the schemas of the arguments of all other entries are neither sent nor compiled. The arguments follow in a second request, by the
schema of the chosen tool alone, where the request does not state them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import (
    UNKNOWN_TOOL,
    ChatRequest,
    Choice,
    ChoiceTask,
    Chooser,
    Entry,
    InvalidRequest,
    Message,
    ResponseFormat,
    Role,
    TextPart,
    hookimpl,
)
from helmdeck_planner.choosers.parts import Part, described, gap, leading, next_part
from helmdeck_planner.choosers.ranker import ranked

NAME: Final = "words"
CANDIDATES: Final = 12
"""Entries that the model chooses from, as many as tier C is shown in a ranked catalog."""

REQUEST_CHARS: Final = 2_000
"""Characters of a request; the rest of it is a pasted document."""

WRITTEN_TOKENS: Final = 64
"""Output tokens: a name, and the spaces that llama.cpp's grammars allow between two tokens of JSON."""

INSTRUCTIONS: Final = """\
Choose the tool that the request needs first.

Tools:
{tools}
{none}: no tool of the list fits

Answer with one JSON object: {{"tool": "<name>"}}"""

REQUEST: Final = "Request: {request}"


async def choose(task: ChoiceTask) -> Choice:
    """Let the model name an entry for the next part of the request.

    Where it names none of the list, the ranker chooses, and the choice is unsure.

    :raises CallFailed: the model failed in another way than by rejecting the request.
    """
    part = await next_part(task)
    if part is None:
        return Choice(is_complete=True)
    if part.is_gap:
        return gap(part)
    listed = leading(task, part, CANDIDATES)
    try:
        response = await task.send(_request(part, listed))
    except InvalidRequest as exc:
        return ranked(
            task, part, f"the server rejected the request ({exc.detail or exc.headline}), so the ranker chose"
        )
    named = _named(response.text)
    if named == UNKNOWN_TOOL:
        return Choice(part=part.text, has_more=part.has_more, reason="the model found no tool that fits")
    if all(named != entry.id for entry in listed):
        by_ranker = ranked(task, part, "the model named no tool of the list, so the ranker chose")
        return attrs.evolve(by_ranker, is_sure=False)
    return Choice(entry_id=named, part=part.text, has_more=part.has_more, reason="named by the model")


def tool_schema(names: Sequence[str]) -> Mapping[str, Any]:
    """Return the schema of a choice: the name of one tool, or of none."""
    return {
        "type": "object",
        "properties": {"tool": {"type": "string", "enum": list(dict.fromkeys((*names, UNKNOWN_TOOL)))}},
        "required": ["tool"],
        "additionalProperties": False,
    }


def _request(part: Part, listed: Sequence[Entry]) -> ChatRequest:
    system = INSTRUCTIONS.format(tools="\n".join(map(described, listed)), none=UNKNOWN_TOOL)
    user = REQUEST.format(request=part.text.strip()[:REQUEST_CHARS])
    return ChatRequest(
        model="",
        messages=(Message(Role.SYSTEM, (TextPart(system),)), Message(Role.USER, (TextPart(user),))),
        max_tokens=WRITTEN_TOKENS,
        temperature=0.0,
        response_format=ResponseFormat("json_schema", "choice", tool_schema([entry.id for entry in listed])),
    )


def _named(text: str) -> str:
    """Return the tool that a response names; empty for none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return str(value.get("tool", "")) if isinstance(value, dict) else ""


@hookimpl
def helmdeck_choosers() -> Sequence[Chooser]:
    """The chooser."""
    return (
        Chooser(name=NAME, choose=choose, summary="the model names one of the ranker's first entries alone", order=3),
    )
