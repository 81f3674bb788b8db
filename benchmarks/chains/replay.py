"""Sends requests through chains of a real weak model and two scripted stronger ones; the policies meet the same answers.

An answer of the real model is recorded when a policy first asks for it, and the other policies get the recorded one.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import httpx

from benchmarks.selection.own_sets import everyday_catalog, multilingual_requests
from benchmarks.weak_models.cases import Labelled, PickCase, Pool, pick_cases, sample
from benchmarks.weak_models.proxy import Window
from benchmarks.weak_models.session import Found
from benchmarks.weak_models.typed import QUESTION, TypedCase, judge
from benchmarks.weak_models.typed import load as load_typed
from helmdeck_core import CallFailed, Catalog, Helmdeck
from helmdeck_selection import input_properties
from helmdeck_testing import chat_server, completion

PRICES: Mapping[str, tuple[float, float]] = {"weak": (0.10, 0.40), "mid": (0.40, 1.60), "strong": (2.00, 8.00)}
"""US dollars of a million tokens of input and of output."""

USABLE: Mapping[str, float] = {"mid": 0.85, "strong": 0.98}
"""The shares of requests at which a scripted model gives the right answer; at the others it gives none."""

WEAK_ROW: Mapping[str, Any] = {"prompt_variant": "single_pick", "max_catalog_bytes": 2_000, "input_tokens": 6_000}
"""The budget row of the weak model, as ``doctor`` proposes it for a small one, with a smaller catalog."""

OUTPUT_TOKENS = 120
"""Of an answer of the real model."""

TOOLS = 50
KINDS = ("typed answers", "tool picks")
GOOD_FIRST, CHEAP_FIRST = ("mid", "strong", "weak"), ("weak", "mid", "strong")
POLICIES: Mapping[str, tuple[Sequence[str], str]] = {
    "fixed": (GOOD_FIRST, "fixed"),
    "cheapest first": (CHEAP_FIRST, "fixed"),
    "adaptive": (GOOD_FIRST, "adaptive"),
}
"""The configured chain and the policy. ``fixed`` is the order of the benchmark's human: first the cheapest model that is good."""

SETTINGS: Mapping[str, tuple[bool, Sequence[str]]] = {
    "with a schema that the server enforces": (True, KINDS),
    "without an enforced schema": (False, KINDS[:1]),
}
"""Whether the weak model's server enforces the schema, and the kinds of work that are sent."""

Case = TypedCase | PickCase


@attrs.define
class Models:
    """The servers behind the decks, and what the real one did.

    :ivar case: the request that is being answered; the scripted models know what is right.
    :ivar seconds: of each real call.
    """

    url: str
    alias: str
    seed: int
    case: Case | None = None
    seconds: list[float] = attrs.field(factory=list)
    replayed: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    _known: dict[str, tuple[int, Mapping[str, str], bytes]] = attrs.field(factory=dict)

    def figures(self) -> dict[str, Any]:
        """What the real model did."""
        return {
            "model": self.alias,
            "calls": len(self.seconds),
            "replayed": self.replayed,
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
            "seconds": sum(self.seconds),
            "median_s": statistics.median(self.seconds or [0.0]),
        }

    def real(self, body: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Answer from the record, or by the real model."""
        limit = min(body.pop("max_completion_tokens", None) or body.get("max_tokens") or OUTPUT_TOKENS, OUTPUT_TOKENS)
        body |= {"model": self.alias, "max_tokens": limit, "temperature": 0.0, "seed": self.seed}
        key = json.dumps(body, sort_keys=True)
        if key in self._known:
            self.replayed += 1
            return self._known[key]
        start = time.perf_counter()
        got = httpx.post(f"{self.url}/chat/completions", json=body, timeout=None, trust_env=False)
        self.seconds.append(time.perf_counter() - start)
        counted = Window(seed=self.seed, temperature=0.0, ends_at=0.0)
        counted.count(got.content)
        self.prompt_tokens += counted.prompt_tokens
        self.output_tokens += counted.output_tokens
        self._known[key] = got.status_code, {"content-type": got.headers["content-type"]}, got.content
        return self._known[key]

    def scripted(self, body: dict[str, Any]) -> Mapping[str, Any]:
        """Give the right answer at a share of the requests, the same ones for all policies, and else an empty one."""
        assert self.case is not None
        model = body["model"]
        is_usable = random.Random(f"{self.seed} {self.case.id} {model}").random() < USABLE[model]
        text = right_answer(self.case) if is_usable else ""
        tokens = len(json.dumps(body["messages"])) // 4
        return completion(text, prompt_tokens=tokens, completion_tokens=len(text) // 4 + 1)


def right_answer(case: Case) -> str:
    """The right answer as a strong model writes it."""
    if isinstance(case, TypedCase):
        return json.dumps(case.expected)
    tool = min(case.tools)
    entry = case.catalog.get(tool)
    args = dict.fromkeys(input_properties(entry), "as asked") if entry is not None else {}
    step = {"order": 1, "tool": tool, "args": args, "rationale": "it does what is called"}
    return json.dumps({"steps": [step], "complexity": "single-action", "reasoning": "one tool does it"})


def load(count: int) -> list[Case]:
    """Return ``count`` requests of each kind, the kinds in turn; the picks share one catalog."""
    asked = [
        Labelled(each.text, frozenset(each.tools), "all") for each in multilingual_requests() if each.group == "en"
    ]
    pool = Pool(sample(asked, len(asked)), {"all": everyday_catalog()})
    picks = pick_cases(pool, pool.requests, TOOLS, [])
    picks = [each for each in picks if each.catalog is picks[0].catalog]
    return list(itertools.chain.from_iterable(zip(load_typed()[:count], picks[:count], strict=False)))


@contextlib.contextmanager
def decks(models: Models, catalog: Catalog, *, enforces: bool) -> Iterator[Mapping[str, Helmdeck]]:
    """Open a deck for each policy; they share the servers."""
    with contextlib.ExitStack() as stack:
        real = stack.enter_context(chat_server(models.real))
        scripted = stack.enter_context(chat_server(models.scripted))
        file = Path(stack.enter_context(tempfile.TemporaryDirectory()), "catalog.json")
        file.write_bytes(catalog.encode())
        shared: dict[tuple[str, ...], Any] = {
            ("catalog", "sources"): [str(file)],
            ("packs", "options", "helmdeck", "embedded_fallback"): False,
            (
                "recovery",
                "cool_down_after",
            ): 0,  # a replayed call takes no time, so that a pause would last for too many
            ("recovery", "backoff_s"): 0.0,
        }
        weak_row = {**WEAK_ROW, "enforces_schema": enforces}
        for name, (by_input, by_output) in PRICES.items():
            server = real if name == "weak" else scripted
            limits = {"timeout_s": 600, "first_token_timeout_s": 600}  # the record is complete before the first token
            shared["providers", name] = {"kind": "openai-compatible", "base_url": server.base_url, **limits}
            prices = {"input_cost_usd_per_mtok": by_input, "output_cost_usd_per_mtok": by_output}
            shared["budgets", f"{name}/"] = {**(weak_row if name == "weak" else {}), **prices}
        found = {}
        for name, (chain, policy) in POLICIES.items():
            first, *rest = (f"{each}/{each}" for each in chain)
            own: dict[tuple[str, ...], Any] = {("model",): first, ("fallback",): {first: rest}}
            own["chains", "policy"] = policy
            if policy == "adaptive":
                own["chains", "options"] = {"seed": models.seed}
            found[name] = stack.enter_context(Helmdeck(overrides=shared | own, environ={}, autoload=False))
        yield found


def ask(deck: Helmdeck, case: Case) -> dict[str, Any]:
    """Make one call: what it cost, who was called first, whether the answer was usable, and right."""
    is_usable = is_right = False
    try:
        if isinstance(case, TypedCase):
            answer = deck.ask(QUESTION.format(text=case.text), type=case.schema)
            attempts, is_usable = answer.attempts, True
            is_right = bool(judge(case, Found(value=answer.value)).get("right"))
        else:
            plan = deck.plan(case.text)
            attempts, is_usable = plan.attempts, bool(plan.steps) and not plan.steps[0].is_gap
            is_right = is_usable and plan.steps[0].tool in case.tools
    except CallFailed as exc:
        attempts = exc.attempts
    cost = sum(each.cost_usd or 0.0 for each in attempts)
    first, answered = (each.model.partition("/")[0] for each in (attempts[0], attempts[-1]))
    return {
        "kind": kind_of(case),
        "cost": cost,
        "first": first,
        "last": answered,
        "usable": is_usable,
        "right": is_right,
    }


def row(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of some calls."""
    usable = sum(each["usable"] for each in calls)
    return {
        "calls": len(calls),
        "usable": usable,
        "right": sum(each["right"] for each in calls),
        "cost_per_usable": sum(each["cost"] for each in calls) / max(usable, 1),
        "first": {name: sum(each["first"] == name for each in calls) / len(calls) for name in PRICES},
        "answered": {name: sum(each["last"] == name and each["usable"] for each in calls) for name in PRICES},
    }


def kind_of(case: Case) -> str:
    """Return the kind of work of a request."""
    return KINDS[isinstance(case, PickCase)]


def replay(url: str, alias: str, count: int, seed: int = 1) -> dict[str, Any]:
    """Send ``count`` requests of each kind of work through the chain of each policy, in both settings."""
    cases, found = load(count), {}
    catalog = next(each.catalog for each in cases if isinstance(each, PickCase))
    for setting, (enforces, kinds) in SETTINGS.items():
        models, load_before = Models(url.rstrip("/"), alias, seed), os.getloadavg()[0]
        made: dict[str, list[dict[str, Any]]] = {name: [] for name in POLICIES}
        chosen = [each for each in cases if kind_of(each) in kinds]
        with decks(models, catalog, enforces=enforces) as opened:
            for number, models.case in enumerate(chosen, 1):
                for name, deck in opened.items():
                    made[name].append(ask(deck, models.case))
                print(f"{setting}: {number} of {len(chosen)} requests, {len(models.seconds)} real calls", flush=True)
        by_kind = {
            kind: {name: row([each for each in calls if each["kind"] == kind]) for name, calls in made.items()}
            for kind in kinds
        }
        found[setting] = {"kinds": by_kind, "real": {**models.figures(), "load": [load_before, os.getloadavg()[0]]}}
    return {"seed": seed, "settings": found}


def table(figures: Mapping[str, Any]) -> str:
    """The part of the page."""
    lines = [
        "| kind of work | policy | calls | usable | right | USD per 1,000 usable | asked first: weak, mid, strong |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    notes = []
    for setting, each in figures["settings"].items():
        for kind, policies in each["kinds"].items():
            for name, own in policies.items():
                shares = [f"{own[what] / own['calls']:.0%}" for what in ("usable", "right")]
                first = ", ".join(f"{share:.0%}" for share in own["first"].values())
                cost = f"{1_000 * own['cost_per_usable']:.3f}"
                lines.append(
                    f"| {kind}, {setting} | {name} | {own['calls']} | {' | '.join(shares)} | {cost} | {first} |"
                )
        real = each["real"]
        notes.append(
            f"- {setting.capitalize()}: {real['calls']} calls of {real['model']}, and {real['replayed']} answers from the record; "
            f"{real['prompt_tokens']:,} prompt and {real['output_tokens']:,} output tokens in {real['seconds']:.0f} s, "
            f"median {real['median_s']:.1f} s; load of the machine {real['load'][0]:.1f} to {real['load'][1]:.1f}."
        )
    return "\n".join([*lines, "", *notes, f"- Seed {figures['seed']}."])
