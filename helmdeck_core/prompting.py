"""Lays a prompt out as messages, so that what does not depend on the request comes first.

Providers discount a prefix that they have seen, and only when it is the same to the byte.
"""

from __future__ import annotations

import math

from helmdeck_core.domain.asking import PromptVariant, Selection
from helmdeck_core.domain.chat import Message, Role, TextPart
from helmdeck_core.domain.tasks import Task

BYTES_PER_TOKEN = 3
"""A cautious figure: English prose has about 4 bytes a token, compact JSON 3 to 3.5, Chinese 3."""


def estimate_tokens(text: str) -> int:
    """Return a cautious estimate of the tokens of ``text``; never too small for prose or compact JSON."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def lay_out(
    variant: PromptVariant, task: Task, selection: Selection | None, *, caches_prefix: bool
) -> tuple[Message, ...]:
    """Return one system and one user message.

    Without a prefix cache the catalog stands in the user message. With one it stands in the system message, as long
    as it does not depend on the request; the end of the part that stays the same is marked.
    """
    tail = variant.render(task)
    block = f"{variant.catalog_heading}\n{selection.text}" if selection is not None else ""
    in_prefix = bool(block) and caches_prefix and selection is not None and not selection.depends_on_request
    system = f"{variant.instructions}\n\n{block}" if in_prefix else variant.instructions
    user = tail if in_prefix or not block else f"{block}\n\n{tail}"
    return (
        Message(Role.SYSTEM, (TextPart(_clean(system), ends_prefix=caches_prefix),)),
        Message(Role.USER, (TextPart(_clean(user)),)),
    )


def _clean(text: str) -> str:
    """Replace lone surrogates, which no wire format can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
