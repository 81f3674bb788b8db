"""Measures ways to let a small model choose among the ranker's best candidates, on a running llama.cpp server.

    python -m benchmarks.choice --base-url http://127.0.0.1:8080 --gguf MODEL.gguf --results scores.jsonl

Every score is written to the results file at once; the same command continues an interrupted run. ``--methods none`` prints the table of
the scores that are there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np

from benchmarks.choice.analysis import Fitted, fit, measure, paired, shares
from benchmarks.choice.methods import METHODS, Server
from benchmarks.choice.requests import CANDIDATES, Choice, choices

CHATML = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
SIDES = {"ranker": (True, False), "model": (False, True), "joined": (True, True)}


def main() -> None:
    """Run the methods that are not in the results yet, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice", description=__doc__)
    parser.add_argument("--base-url", default="http://127.0.0.1:8080", help="the server, without /v1")
    parser.add_argument("--gguf", type=Path, help="the file of the model, for likelihoods of texts")
    parser.add_argument("--libraries", type=Path, help="the folder of llama.cpp's shared libraries, for typed_gguf")
    parser.add_argument("--base-model", action="store_true", help="the model has no chat template")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--results", type=Path, default=Path("choice.jsonl"))
    arguments = parser.parse_args()
    drawn = choices(arguments.requests)
    if arguments.methods != ["none"]:
        template = "{}" if arguments.base_model else CHATML
        server = Server(arguments.base_url, template, arguments.gguf, arguments.libraries)
        _run(server, drawn, arguments.methods, arguments.results)
    for name, scores_of in _scores(arguments.results).items():
        pairs = [(each, scores_of[each.id]) for each in drawn if each.id in scores_of]
        for count in (CANDIDATES, 4):
            print("\n".join(rows(name, pairs, count)))


def _run(server: Server, drawn: Sequence[Choice], methods: Sequence[str], results: Path) -> None:
    known = _scores(results)
    with results.open("a", encoding="utf-8") as file:
        for name in methods:
            for number, choice in enumerate(drawn, 1):
                if choice.id in known.get(name, {}):
                    continue
                scores = METHODS[name](server, choice)
                print(json.dumps({"id": choice.id, "method": name, "scores": scores}), file=file, flush=True)
                print(f"\r{name}: {number} of {len(drawn)}", end="", flush=True)
            print()


def _scores(results: Path) -> Mapping[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else ():
        row = json.loads(line)
        found.setdefault(row["method"], {})[row["id"]] = row["scores"]
    return found


def rows(name: str, pairs: Sequence[tuple[Choice, Sequence[float]]], count: int) -> list[str]:
    """Return the rows of one method: weights fitted on every other request, figures of the others."""
    limited = [(first(choice, count), scores_of[:count]) for choice, scores_of in pairs]
    fitting, reported = limited[::2], limited[1::2]
    if len(reported) < 2:
        return []
    found, right = [], {}
    for side, uses in SIDES.items():
        weights = fit(fitting, uses)
        figures = measure(reported, weights)
        right[side] = [_is_right(choice, scores_of, weights) for choice, scores_of in reported]
        at = ", ".join(f"{share:.0%}: {value:.1%}" for share, value in figures.at.items())
        found.append(
            f"{name}, {count} candidates, {side}: {figures.chosen_right:.1%} of {figures.n} right "
            f"({figures.low:.1%} to {figures.high:.1%}), ECE {figures.ece:.3f}, by coverage {at}; "
            f"weights {weights.rank:.2f} {weights.model:.2f} {weights.none:.2f}"
        )
    return [
        *found,
        f"{name}, {count} candidates: joined no better than the ranker by chance: {paired(right['ranker'], right['joined']):.4f}",
    ]


def first(choice: Choice, count: int) -> Choice:
    """The choice among fewer candidates."""
    is_among = choice.right is not None and choice.right < count
    return attrs.evolve(
        choice,
        names=choice.names[:count],
        texts=choice.texts[:count],
        scores=choice.scores[:count],
        right=choice.right if is_among else None,
    )


def _is_right(choice: Choice, scores_of: Sequence[float], weights: Fitted) -> bool:
    return choice.right == int(np.argmax(shares(choice, scores_of, weights)[:-1]))


if __name__ == "__main__":
    main()
