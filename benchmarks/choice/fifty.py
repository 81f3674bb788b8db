"""Measures the chooser ``logprobs`` alone among 50 tools, on mixed requests, with likelihoods computed from the model's file.

    python -m benchmarks.choice.fifty --base-url http://127.0.0.1:8080 --gguf MODEL.gguf --results fifty.jsonl
    python -m benchmarks.choice.fifty --base-url http://127.0.0.1:8080 --results fifty.jsonl    # the server computes them

The requests and catalogs are those of ``benchmarks.weak_models``. No text is generated, so that hundreds of requests are affordable. With
the file of a model of the architecture ``llama``, the server only returns the tokens of texts. The same command continues an interrupted
run, and ``--requests 0`` prints what is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.choice.likelihood import GgufModel
from benchmarks.choice.methods import Server
from benchmarks.weak_models.cases import PickCase, own_catalogs, own_pool, pick_cases, sample
from benchmarks.weak_models.results import Result, by_set, compare
from helmdeck_core import ChatRequest, ChatResponse, Choice, ChoiceTask, Chooser, Helmdeck, StopReason

TOOLS = 50
MODEL = "llamacpp/measured"


def main() -> None:
    """Choose for the requests that are not in the results yet, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice.fifty", description=__doc__)
    parser.add_argument("--base-url", default="http://127.0.0.1:8080", help="the server, without /v1")
    parser.add_argument("--gguf", type=Path, help="the file of the model")
    parser.add_argument("--requests", type=int, default=320)
    parser.add_argument("--results", type=Path, default=Path("fifty.jsonl"))
    arguments = parser.parse_args()
    if arguments.requests:
        pool = own_pool()
        cases = pick_cases(pool, sample(pool.requests, arguments.requests), TOOLS, own_catalogs().values())
        model = None
        if arguments.gguf:
            model = GgufModel(arguments.gguf, Server(arguments.base_url).tokenize)
            # One catalog after another, since the keys and values of its tools are kept.
            cases.sort(key=lambda each: (each.source, each.catalog.version))
        _run(cases, model, f"{arguments.base_url}/v1", arguments.results)
    print(summary(_read(arguments.results)))


def _run(cases: Sequence[PickCase], model: GgufModel | None, url: str, path: Path) -> None:
    known = {row["id"] for row in _read(path)}

    async def send(deck: Helmdeck, request: ChatRequest) -> ChatResponse:
        wanted = request.likelihood
        assert wanted is not None
        if model is None:
            return await deck.acomplete(attrs.evolve(request, model=MODEL), allows_empty=True)
        values = model.likelihoods(wanted.prompts, [wanted.text] * len(wanted.prompts))
        return ChatResponse(text="", stop_reason=StopReason.END_TURN, raw_stop_reason="stop", likelihoods=tuple(values))

    with tempfile.TemporaryDirectory(prefix="fifty-") as folder, path.open("a", encoding="utf-8") as file:
        deck: Helmdeck | None = None
        for number, case in enumerate(cases, 1):
            if case.id in known:
                continue
            if deck is None or deck.catalog.version != case.catalog.version:
                deck = _deck(case, url, Path(folder))
            print(json.dumps(_chosen(deck, case, send)), file=file, flush=True)
            print(f"\r{number} of {len(cases)}", end="", file=sys.stderr, flush=True)


def _deck(case: PickCase, url: str, folder: Path) -> Helmdeck:
    source = folder / f"{case.catalog.version}.json"
    source.write_bytes(case.catalog.encode())
    overrides: dict[tuple[str, ...], Any] = {
        ("model",): MODEL,
        ("catalog", "sources"): [str(source)],
        ("providers", "llamacpp"): {"base_url": url, "timeout_s": 600},
    }
    return Helmdeck(overrides=overrides, environ={}, autoload=False)


def _chosen(deck: Helmdeck, case: PickCase, send: Any) -> dict[str, Any]:
    """The tools that the chooser and the ranker alone choose for one request, and whether they are right."""
    sent: list[ChatRequest] = []

    async def counted(request: ChatRequest) -> ChatResponse:
        sent.append(request)
        found: ChatResponse = await send(deck, request)
        return found

    chooser = deck.runtime.contributed(Chooser)["logprobs"].value
    ranking = deck.rank(case.text)
    budget = deck.budget(MODEL).budget
    task = ChoiceTask(
        request=case.text, catalog=deck.catalog, budget=budget, ranking=ranking, rank=deck.rank, send=counted
    )

    async def choose() -> Choice:
        found: Choice = await chooser.choose(task)
        return found

    choice = asyncio.run(choose())
    best = ranking.scores[0] if ranking.scores else None
    return {
        "id": case.id,
        "set": case.source,
        "chosen": choice.entry_id in case.tools,
        "ranker": best is not None and best.score > 0 and best.id in case.tools,
        "calls": len(sent),
        "probability": choice.probability,
    }


def _read(path: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines())) if path.exists() else []


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table: right tools of both, and their difference with its one-sided bound, for each set and all."""
    ways = [
        [
            Result(task="fifty", way=way, case=row["id"], run=1, right=row[way], detail={"set": row["set"]})
            for row in rows
        ]
        for way in ("chosen", "ranker")
    ]
    right = [sum(each.right for each in way) for way in ways]
    lines = ["| requests of | n | `logprobs` | ranker alone | better, worse | difference in points, one-sided 95 % |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for name, each in {**by_set(*ways), "all": {**compare(*ways), "right": right}}.items():
        n = max(1, each["requests"])
        shares = " | ".join(f"{100 * count / n:.1f} %" for count in each["right"])
        difference = f"{100 * each['difference']:+.1f} (at least {100 * each['above']:+.1f})"
        lines.append(f"| {name} | {n} | {shares} | {each['better']}, {each['worse']} | {difference} |")
    calls = sum(row["calls"] for row in rows) / max(1, len(rows))
    return "\n".join([*lines, "", f"requests to the model: {calls:.2f} a choice"])


if __name__ == "__main__":
    main()
