"""Generates requests, renders them in several layouts and replays them against the providers' caching rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from benchmarks.prefix_cache.providers import Bill, Cache, Rules, Sent
from helmdeck_core import Budget, Catalog, CatalogSource, Entry, Message, Question, hookimpl
from helmdeck_core.context.composer import Composer, Prompt
from helmdeck_core.context.llm_filter import filter_question
from helmdeck_testing import make_deck

VERBS = "create list update delete search export import approve archive share schedule cancel compare merge".split()
NOUNS = (
    "invoice ticket contract customer shipment report meeting document campaign backup server dataset order refund image "
    "video playlist recipe flight booking employee payroll survey alert dashboard branch release subscription warehouse"
).split()


# -- requests ----------------------------------------------------------------------------------------------


def requests_over(catalog: Catalog, count: int, seed: int = 11) -> list[tuple[str, tuple[str, ...]]]:
    """Return distinct requests and their required entries; every tenth contains a pasted document of 1.5 KB."""
    rng = random.Random(seed)
    made: list[tuple[str, tuple[str, ...]]] = []
    while len(made) < count:
        required = rng.sample(catalog.entries, rng.choice((1, 1, 2, 3)))
        asks = [_ask(entry, rng) for entry in required]
        text = "Please " + " and then ".join(asks) + f", for case {len(made)}."
        if len(made) % 10 == 9:
            text = f"{_document(catalog, rng)}\n\n{text}"
        made.append((text, tuple(entry.id for entry in required)))
    return made


def _ask(entry: Entry, rng: random.Random) -> str:
    phrases = entry.metadata.get("intent_keywords") or [entry.description.split(".")[0]]
    return str(rng.choice(list(phrases))).lower()


def _document(catalog: Catalog, rng: random.Random) -> str:
    text = ""
    while len(text) < 1_500:
        text += rng.choice(catalog.entries).description + " "
    return text[:1_500]


def large_catalog(count: int, seed: int = 12) -> Catalog:
    """Return a catalog with a number of tools in the format of tool servers."""
    rng = random.Random(seed)
    names = [f"{noun}.{verb}" for noun in NOUNS for verb in VERBS]
    names += [f"{noun}.{verb}_{other}" for noun in NOUNS for verb in VERBS for other in NOUNS if other != noun]
    tools = []
    for name in rng.sample(names[: max(count, 400)], count):
        noun, _, verb = name.partition(".")
        fields = rng.sample(NOUNS, rng.randint(2, 6))
        tools.append(
            {
                "name": name,
                "description": f"{verb.replace('_', ' for the ').capitalize()} one {noun} of an account. "
                f"Takes the {' and the '.join(fields)}. Returns what was changed, with the time and who did it.",
                "input_schema": {
                    "type": "object",
                    "properties": {
                        field: {"type": "string", "description": f"The {field} that the {noun} belongs to."}
                        for field in fields
                    },
                    "required": fields[:1],
                },
            }
        )
    return Catalog.from_data({"packs": tools}, "large")


# -- layouts -----------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Case:
    """One model over one catalog."""

    name: str
    composer: Composer
    budget: Budget
    requests: Sequence[tuple[str, tuple[str, ...]]]


def case(name: str, model: str, count: int, tools: int = 0, **fields: Any) -> Case:
    """A model over the example catalog, or over one of so many tools; ``fields`` are those of its budget."""
    deck = make_deck(_Large(tools), catalog_sources="large") if tools else make_deck()
    budget = attrs.evolve(deck.budget(model).budget, supports_prefix_cache=True, **fields)
    engine = deck._engine  # noqa: SLF001 (no model is called, and there is no public access to prompt parts)
    composer = engine.composer(engine.library)
    return Case(name=name, composer=composer, budget=budget, requests=requests_over(deck.catalog, count))


class _Large:
    def __init__(self, tools: int) -> None:
        self.tools = tools

    @hookimpl
    def helmdeck_catalog_sources(self) -> list[CatalogSource]:
        return [CatalogSource(name="large", load=lambda: large_catalog(self.tools))]


Layout = Callable[[Case, str, tuple[str, ...]], list[Sent]]


def question(request: str) -> Question[Any]:
    """Return the question of a plan."""
    return Question(caller="helmdeck.plan", task="plan", type=dict, request=request)


def plain(case: Case, request: str, _: tuple[str, ...]) -> list[Sent]:
    """No cache layout: instructions, then catalog and request in the user message, without a marker."""
    budget = attrs.evolve(case.budget, supports_prefix_cache=False)
    return [attrs.evolve(_sent(case.composer.compose(question(request), budget).messages), mark=0)]


def in_front(case: Case, request: str, _: tuple[str, ...]) -> list[Sent]:
    """The catalog is always in the system message, followed by the marker, even if it depends on the request."""
    budget = attrs.evolve(case.budget, supports_prefix_cache=False)
    prompt = case.composer.compose(question(request), budget)
    text = b"".join(message.text.encode() for message in prompt.messages)
    return [Sent(text, len(text) - len(prompt.variant.render(prompt.task).encode()))]


def ours(case: Case, request: str, _: tuple[str, ...]) -> list[Sent]:
    """The request-independent part first, an index if the catalog does not fit; no filter call."""
    return [_sent(case.composer.compose(question(request), case.budget).messages)]


def ours_filtered(case: Case, request: str, required: tuple[str, ...]) -> list[Sent]:
    """The same with a filter call for unsure rankings; it returns exactly the required entries."""
    prompt = case.composer.compose(question(request), case.budget)
    if prompt.selection is None or prompt.selection.ranking is None or prompt.selection.ranking.is_confident():
        return [_sent(prompt.messages)]
    filter_prompt = case.composer.compose(filter_question(request, case.budget.model), case.budget)
    return [_sent(filter_prompt.messages), _sent(case.composer.narrowed(prompt, required).messages)]


def _sent(messages: Iterable[Message]) -> Sent:
    text = b""
    mark = 0
    for message in messages:
        for part in message.parts:
            text += getattr(part, "text", "").encode()
            if getattr(part, "ends_prefix", False):
                mark = len(text)
    return Sent(text, mark)


# -- the replay --------------------------------------------------------------------------------------------


def replay(case: Case, layout: Layout, rules: Rules, gap_s: float, seed: int = 13) -> Bill:
    """Send every request, with random gaps of ``gap_s`` seconds in the mean; a filter call has its own cache entry."""
    rng = random.Random(seed)
    cache = Cache(rules)
    now = 0.0
    for request, required in case.requests:
        now += rng.expovariate(1 / gap_s)
        for sent in layout(case, request, required):
            cache.charge(sent, now)
    # A filter call is a part of the call that it serves.
    cache.bill.calls = len(case.requests)
    return cache.bill


def held(case: Case, prompts: Iterable[Prompt]) -> float:
    """Return the share of requests for which the model sees all required entries."""
    shown = [
        all(prompt.selection is not None and prompt.selection.shows(each) for each in required)
        for prompt, (_, required) in zip(prompts, case.requests, strict=True)
    ]
    return sum(shown) / len(shown)
