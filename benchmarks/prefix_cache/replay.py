"""Makes requests, lays them out in several ways, and replays them against the providers' rules."""

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
    """Different requests and the entries that each is about; every tenth carries a pasted document of 1.5 KB."""
    rng = random.Random(seed)
    made: list[tuple[str, tuple[str, ...]]] = []
    while len(made) < count:
        wanted = rng.sample(catalog.entries, rng.choice((1, 1, 2, 3)))
        asks = [_ask(entry, rng) for entry in wanted]
        text = "Please " + " and then ".join(asks) + f", for case {len(made)}."
        if len(made) % 10 == 9:
            text = f"{_document(catalog, rng)}\n\n{text}"
        made.append((text, tuple(entry.id for entry in wanted)))
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
    """A catalog of so many tools, as servers list them."""
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
    library = deck._engine.library  # noqa: SLF001 (nothing is asked here, so there is no public way to a prompt in parts)
    composer = Composer(deck.runtime, library)
    return Case(name=name, composer=composer, budget=budget, requests=requests_over(deck.catalog, count))


class _Large:
    def __init__(self, tools: int) -> None:
        self.tools = tools

    @hookimpl
    def helmdeck_catalog_sources(self) -> list[CatalogSource]:
        return [CatalogSource(name="large", load=lambda: large_catalog(self.tools))]


Layout = Callable[[Case, str, tuple[str, ...]], list[Sent]]


def question(request: str) -> Question[Any]:
    """The question of a plan."""
    return Question(caller="helmdeck.plan", task="plan", type=dict, request=request)


def plain(case: Case, request: str, _: tuple[str, ...]) -> list[Sent]:
    """No layout for caches: instructions, then catalog and request in the user message, and no mark."""
    budget = attrs.evolve(case.budget, supports_prefix_cache=False)
    return [attrs.evolve(_sent(case.composer.compose(question(request), budget).messages), mark=0)]


def in_front(case: Case, request: str, _: tuple[str, ...]) -> list[Sent]:
    """The catalog always in the system message and the mark behind it, also when it was chosen for the request."""
    budget = attrs.evolve(case.budget, supports_prefix_cache=False)
    prompt = case.composer.compose(question(request), budget)
    text = b"".join(message.text.encode() for message in prompt.messages)
    return [Sent(text, len(text) - len(prompt.variant.render(prompt.task).encode()))]


def ours(case: Case, request: str, _: tuple[str, ...]) -> list[Sent]:
    """What does not depend on the request first, an index where the catalog does not fit; no filter call."""
    return [_sent(case.composer.compose(question(request), case.budget).messages)]


def ours_filtered(case: Case, request: str, wanted: tuple[str, ...]) -> list[Sent]:
    """The same with a filter call before it, where the ranking is unsure; it names just what is wanted."""
    prompt = case.composer.compose(question(request), case.budget)
    if prompt.selection is None or prompt.selection.ranking is None or prompt.selection.ranking.is_confident():
        return [_sent(prompt.messages)]
    asked = case.composer.compose(filter_question(request, case.budget.model), case.budget)
    return [_sent(asked.messages), _sent(case.composer.narrowed(prompt, wanted).messages)]


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
    """Send every request, with random gaps of ``gap_s`` seconds in the mean; a filter call has a cache entry of its own."""
    rng = random.Random(seed)
    cache = Cache(rules)
    now = 0.0
    for request, wanted in case.requests:
        now += rng.expovariate(1 / gap_s)
        for sent in layout(case, request, wanted):
            cache.charge(sent, now)
    # A filter call is a part of the call that it serves.
    cache.bill.calls = len(case.requests)
    return cache.bill


def held(case: Case, prompts: Iterable[Prompt]) -> float:
    """The share of requests all of whose entries the model gets to see."""
    shown = [
        all(prompt.selection is not None and prompt.selection.shows(each) for each in wanted)
        for prompt, (_, wanted) in zip(prompts, case.requests, strict=True)
    ]
    return sum(shown) / len(shown)
