"""Lays a prompt out as messages, so that what does not depend on the request comes first.

Providers discount a prefix that they have seen, and only when it is the same to the byte.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain.chat import FilePart, ImagePart, Message, Part, Role, TextPart
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.questions import PromptVariant, Selection
from helmdeck_core.domain.shared_text import SharedText
from helmdeck_core.errors import ContextWindowExceeded

BYTES_PER_TOKEN = 3
"""A cautious figure: English prose has about 4 bytes a token, compact JSON 3 to 3.5, Chinese 3."""

MESSAGE_TOKENS = 64
"""Tokens that a chat template adds around two messages."""

KEPT_TEXTS = 32
"""Texts that requests share and that are kept; a deployment has some for each catalog, variant and tier."""


def estimate_tokens(text: str) -> int:
    """Return a cautious estimate of the tokens of ``text``; never too small for prose or compact JSON."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def check_fits(budget: Budget, tokens: int) -> None:
    """Check that a request without a catalog fits the budget of a model.

    :param tokens: the estimated tokens of its messages.
    :raises ContextWindowExceeded: it does not.
    """
    if tokens > budget.input_tokens:
        raise ContextWindowExceeded(
            "the request is larger than the model's budget",
            budget.model,
            sub_cause="no_room",
            detail=f"it has about {tokens:,} tokens, the budget is {budget.input_tokens:,}",
        )


def lay_out(
    variant: PromptVariant,
    tail: str,
    selection: Selection | None,
    *,
    caches_prefix: bool,
    is_narrowed: bool = False,
    images: tuple[ImagePart | FilePart, ...] = (),
) -> tuple[Message, ...]:
    """Return one system and one user message.

    Without a prefix cache the catalog is in the user message. With one, its part that does not depend on the request
    is in the system message, and the end of the constant part is marked.

    :param tail: the part that ``variant.render`` made of the task.
    :param is_narrowed: the catalog was reduced for this call; a model with a prefix cache, which is used to finding
        its catalog in the system message, finds this one there too, behind the mark.
    :param images: of the request; they stand behind its words.
    """
    cached, rest = _split(variant, selection, caches_prefix=caches_prefix)
    steady = _shared(variant.instructions, *cached)
    system = [TextPart(steady.text, ends_prefix=caches_prefix, shared=steady)]
    if rest and is_narrowed and caches_prefix:
        system.append(TextPart(_clean(f"\n\n{_headed(*rest)}")))
        rest = ()
    user: tuple[Part, ...] = (_asking(rest, tail, is_shared=not _is_own(selection)), *images)
    return (Message(Role.SYSTEM, tuple(system)), Message(Role.USER, user))


_Block = tuple[()] | tuple[str, str]
"""A heading and its text, or nothing."""


def _split(variant: PromptVariant, selection: Selection | None, *, caches_prefix: bool) -> tuple[_Block, _Block]:
    """Return the part of the catalog in the cached prefix, and the part after it."""
    if selection is None:
        return (), ()
    heading = variant.catalog_heading or ""
    if selection.index is not None:
        return (heading, selection.index.text), (variant.details_heading or "", selection.text)
    block = (heading, selection.text)
    return (block, ()) if caches_prefix and not selection.depends_on_request else ((), block)


def _is_own(selection: Selection | None) -> bool:
    """Whether what is selected is this request's own."""
    return selection is not None and selection.depends_on_request


def _asking(block: _Block, tail: str, *, is_shared: bool) -> TextPart:
    if not block or not is_shared:
        return TextPart(_clean(_joined(_headed(*block), tail)))
    shared = _shared("", *block)
    return TextPart(_joined(shared.text, _clean(tail)), shared=shared)


@functools.lru_cache(KEPT_TEXTS)
def _shared(head: str, heading: str = "", text: str = "") -> SharedText:
    return SharedText(_clean(_joined(head, _headed(heading, text))))


def _headed(heading: str = "", text: str = "") -> str:
    return f"{heading}\n{text}" if heading or text else ""


def _joined(*blocks: str) -> str:
    return "\n\n".join(filter(None, blocks))


def with_schema(messages: tuple[Message, ...], schema: Mapping[str, Any], heading: str) -> tuple[Message, ...]:
    """Add the schema of the answer to the last message, for a model that is not constrained to it."""
    return with_text(messages, f"{heading}\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}")


def with_text(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Add a paragraph to the last message."""
    *before, last = messages
    return (*before, attrs.evolve(last, parts=(*last.parts, TextPart(_clean(f"\n\n{text}")))))


def _clean(text: str) -> str:
    """Replace lone surrogates, which no wire format can carry."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
