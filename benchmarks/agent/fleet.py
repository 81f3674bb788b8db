"""A loopback model that behaves like six recorded planning calls of a free model, over 200 requests.

Of six calls, three gave a clean plan (about 150 tokens), two were truncated at 600 tokens, and one spent 423 tokens on reasoning
and showed 71 characters. Every call of a run, a continuation or a retry included, draws one of the six from shuffled decks.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import Catalog
from helmdeck_testing import completion

SEED = 53
REQUESTS = 200
KINDS = ("clean",) * 3 + ("long",) * 2 + ("leak",)
OUTPUT_TOKENS = 600
CHARS_PER_TOKEN = 4.4
"""2,627 and 2,549 characters in 600 tokens."""
LEAK_TOKENS, LEAK_CHARS = 423, 71
LONG_CHARS = 3_400
"""Characters of a whole plan in the long kind; a single step has its share."""

_FILLER = "This step is needed because the request asks for it, and nothing before it covers that part of the request. "


@attrs.frozen
class Intent:
    """A request and the tools that it needs, in order."""

    number: int
    text: str
    tools: tuple[str, ...]


def intents(catalog: Catalog) -> Sequence[Intent]:
    """Return the requests: two to four phrases of different entries, joined."""
    chooser = random.Random(SEED)
    entries = [entry for entry in catalog.packs if entry.metadata.get("intent_keywords")]
    found = []
    for number in range(REQUESTS):
        chosen = chooser.sample(entries, chooser.choice((2, 3, 3, 4)))
        phrases = [chooser.choice(list(entry.metadata["intent_keywords"])) for entry in chosen]
        found.append(
            Intent(number, f"{', then '.join(phrases)} (request {number})", tuple(entry.id for entry in chosen))
        )
    return found


class WeakModel:
    """Answers planning requests.

    :ivar calls: requests so far; ``input_tokens`` and ``output_tokens`` likewise.
    """

    def __init__(self, requests: Sequence[Intent]) -> None:
        self.calls = self.input_tokens = self.output_tokens = 0
        self._requests = requests
        self._lock = threading.Lock()
        self._draw = random.Random(SEED)
        self._deck: list[str] = []
        self._whole: dict[int, list[str]] = {}

    def answer(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the response to a request."""
        with self._lock:
            return self._answer(body["messages"], body.get("max_tokens") or body.get("max_completion_tokens"))

    def _answer(self, messages: Sequence[Mapping[str, Any]], limit: int | None) -> Mapping[str, Any]:
        kind = self._kind()
        prompt = "\n".join(_text(message) for message in messages if message["role"] != "assistant")
        partial = next((_text(message) for message in messages if message["role"] == "assistant"), "")
        # The end of the request names it; "PREVIOUS" text of other requests is not part of a prompt.
        intent = self._requests[int(re.findall(r"\(request (\d+)\)", prompt)[-1])]
        if partial:
            whole = next(text for text in self._whole[intent.number] if text.startswith(partial))
            rest = whole[len(partial) :]
        else:
            whole = rest = self._plan(intent, prompt, is_long=kind == "long")
        text, stop = rest, "stop"
        tokens = round(len(text) / CHARS_PER_TOKEN)
        if kind == "leak":
            text, tokens = rest[:LEAK_CHARS], LEAK_TOKENS
        elif limit is not None and tokens > limit:
            text, tokens, stop = rest[: round(limit * CHARS_PER_TOKEN)], limit, "length"
        self._whole.setdefault(intent.number, []).insert(0, whole)
        used = round(sum(len(_text(message)) for message in messages) / CHARS_PER_TOKEN)
        self.calls, self.input_tokens, self.output_tokens = (
            self.calls + 1,
            self.input_tokens + used,
            self.output_tokens + tokens,
        )
        return completion(text, stop, prompt_tokens=used, completion_tokens=tokens)

    def _kind(self) -> str:
        if not self._deck:
            self._deck = [*KINDS]
            self._draw.shuffle(self._deck)
        return self._deck.pop()

    def _plan(self, intent: Intent, prompt: str, *, is_long: bool) -> str:
        is_single = "exactly one step" in prompt
        done = re.findall(r"(?m)^\d+\. (\S+)", prompt.rpartition("\nDONE (")[2].partition("\n\n")[0])
        left = [tool for tool in intent.tools if tool not in done]
        chosen = left[:1] if is_single else left
        share = LONG_CHARS // max(1, len(intent.tools))
        why = (_FILLER * 40)[:share] if is_long else "requested"
        steps = [
            {"order": n, "tool": tool, "args": {"text": intent.text}, "rationale": why}
            for n, tool in enumerate(chosen, 1)
        ]
        plan: dict[str, Any] = {"steps": steps, "complexity": "pack-chain", "reasoning": "one step for each part"}
        if is_single:
            plan["more_steps_likely"] = len(left) > 1
        return json.dumps(plan)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
