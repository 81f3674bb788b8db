"""Measures choices of the product beside those of the ranker alone, on requests that no weight was fitted on.

    python -m benchmarks.choice.product --base-url http://127.0.0.1:8080/v1 --model smollm2 --results product.jsonl

``helmdeck doctor --model`` examines the model first, and ``deck.plan`` uses the row that it proposes. Every plan is written to the results
file at once; the same command continues an interrupted run. ``--chooser`` replaces the proposed chooser, and ``--requests 0`` prints the
figures that are there.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.choice.analysis import paired, wilson
from benchmarks.choice.requests import DRAWN, SEED, drawn, labelled
from benchmarks.selection.data import data_folder
from benchmarks.weak_models.settings import proposed
from helmdeck_core import CallFailed, Helmdeck

EXAMINATION_S = 60.0
Z_ONE_SIDED = 1.645


def main() -> None:
    """Plan the requests that are not in the results yet, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice.product", description=__doc__)
    parser.add_argument("--base-url", required=True, help="the server, with /v1")
    parser.add_argument("--model", required=True, help="name that the server knows the model by")
    parser.add_argument("--provider", default="llamacpp")
    parser.add_argument("--requests", type=int, default=450)
    parser.add_argument("--chooser", help="a chooser in place of the proposed one")
    parser.add_argument("--results", type=Path, default=Path("product.jsonl"))
    arguments = parser.parse_args()
    if arguments.requests:
        _run(arguments)
    print(summary(_read(arguments.results)))


def unseen(count: int, data_set: str = "metatool-dev") -> list[Mapping[str, Any]]:
    """Return requests for one tool that ``benchmarks.choice.requests`` does not draw, the same ones in every run."""
    seen = {each["id"] for each in drawn(DRAWN, data_set)}
    rest = [each for each in labelled(data_set) if each["id"] not in seen]
    return random.Random(SEED + 1).sample(rest, min(count, len(rest)))


def _run(arguments: argparse.Namespace) -> None:
    model_id, known = f"{arguments.provider}/{arguments.model}", {row["id"] for row in _read(arguments.results)}
    proposal = proposed(arguments.provider, arguments.model, arguments.base_url, EXAMINATION_S)
    row = {**proposal.row, **({"chooser": arguments.chooser} if arguments.chooser else {})}
    print(f"row, from {proposal.source}: {row}", file=sys.stderr)
    overrides: dict[tuple[str, ...], Any] = {
        ("model",): model_id,
        ("providers", arguments.provider): {"base_url": arguments.base_url, "timeout_s": 600},
        ("budgets", model_id): row,
        ("catalog", "sources"): [str(Path(data_folder()) / "metatool-dev" / "catalog.json")],
    }
    with (
        Helmdeck(overrides=overrides, environ={}, autoload=False) as deck,
        arguments.results.open("a", encoding="utf-8") as file,
    ):
        for number, each in enumerate(unseen(arguments.requests), 1):
            if each["id"] in known:
                continue
            print(json.dumps(_planned(deck, each)), file=file, flush=True)
            if sys.stderr.isatty():
                print(f"\r{number} of {arguments.requests}", end="", file=sys.stderr, flush=True)


def _planned(deck: Helmdeck, each: Mapping[str, Any]) -> dict[str, Any]:
    """Plan one request, and compare its tool and that of the ranker with the right one."""
    scores, start = deck.rank(each["intent"]).scores, time.perf_counter()
    row: dict[str, Any] = {"id": each["id"], "ranker": bool(scores) and scores[0].id in each["gold"]}
    try:
        plan = deck.plan(each["intent"])
    except CallFailed as exc:
        facts = {"calls": len(exc.attempts), "failure": f"{exc.failure_class.value}/{exc.sub_cause}"}
        return {**row, **facts, "right": False, "is_valid": False}
    names = [step.tool for step in plan.steps]
    return {
        **row,
        "right": names[:1] == each["gold"],
        "is_valid": bool(names),
        "is_gap": bool(names) and plan.steps[0].is_gap,
        "is_invented": any(step.corrected_from for step in plan.steps),
        "probability": plan.choice.probability if plan.choice else None,
        "reason": plan.choice.reason if plan.choice else "",
        "calls": sum(attempt.is_sent for attempt in plan.attempts),
        "seconds": round(time.perf_counter() - start, 3),
    }


def _read(path: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines())) if path.exists() else []


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the figures as lines; intervals are Wilson's at 95 %, the bound of the difference is one-sided."""
    if not rows:
        return "nothing was measured"
    n, product, ranker = len(rows), [row["right"] for row in rows], [row["ranker"] for row in rows]
    gains = sum(one and not other for one, other in zip(product, ranker, strict=True))
    losses = sum(other and not one for one, other in zip(product, ranker, strict=True))
    difference, spread = gains - losses, (gains + losses - (gains - losses) ** 2 / n) ** 0.5
    surest = sorted((row for row in rows if row.get("probability") is not None), key=lambda row: -row["probability"])
    at = {share: surest[: round(share * len(surest))] for share in (0.5, 0.8, 1.0)}
    return "\n".join(
        (
            (
                f"n {n}; valid {sum(row['is_valid'] for row in rows)}, gaps {sum(row.get('is_gap', False) for row in rows)}, "
                f"invented {sum(row.get('is_invented', False) for row in rows)}"
            ),
            f"product: {_share(product)}; ranker: {_share(ranker)}",
            (
                f"better on {gains}, worse on {losses}; if equal, as good or better by chance: {paired(ranker, product):.4f}; as bad or "
                f"worse by chance: {paired(product, ranker):.4f}"
            ),
            f"difference {difference / n:+.1%}, above {(difference - Z_ONE_SIDED * spread) / n:+.1%} (one-sided 95 %)",
            f"calls a request {sum(row['calls'] for row in rows) / n:.2f}",
            "right by coverage: "
            + ", ".join(
                f"{share:.0%} {sum(row['right'] for row in found) / max(1, len(found)):.1%}"
                for share, found in at.items()
            ),
        )
    )


def _share(right: Sequence[bool]) -> str:
    low, high = wilson(sum(right), len(right))
    return f"{sum(right) / len(right):.1%} right ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    main()
