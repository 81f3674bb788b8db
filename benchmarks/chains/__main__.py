"""Cost per usable answer of fallback chains by policy, over simulated fleets; the product's policy code, not a copy.

::

    python -m benchmarks.chains --quick --json FILE   # less than ten minutes
    python -m benchmarks.chains --json FILE           # 12,000 calls, 20 seeds
    python -m benchmarks.chains --long --json FILE    # 100,000 calls, without the slow peers; FILE is written after each fleet
    python -m benchmarks.chains --advice --json FILE  # the intervals of the advice alone
    python -m benchmarks.chains --replay URL --json FILE   # a real weak model, such as http://127.0.0.1:8080/v1, in front of scripted ones
    python -m benchmarks.chains --from FILE --write   # write the parts of docs/benchmarks/chains.md and its plots that FILE has
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chains.contestants import CONTESTANTS, Outcome, clairvoyant, human
from benchmarks.chains.fleets import FLEETS, LIST, TUNED, Fleet, World, prices, world
from benchmarks.chains.intervals import coverage
from benchmarks.chains.page import write_page
from benchmarks.chains.replay import replay

WINDOW = 1_000
"""Calls of the windows in which usable shares are compared."""

CURVE = 500
"""Calls of one point of a plot."""

LONG_CALLS = 100_000
LONG = ("clairvoyant", "adaptive", "human", "cheapest first", "epsilon-greedy", "difficulty threshold")
"""Policies of the long run."""

REGRETS = 200
"""Points of a plot of regret."""

PEER_CALLS = 2_000
PEER_SEEDS = 3
LITELLM = "litellm==1.110.*"


def ratio(outcome: Outcome, best: Outcome, start: int = 0, end: int | None = None) -> float:
    """Cost per usable answer, relative to the clairvoyant one, over some calls."""
    span = slice(start, end)
    own = outcome.cost[span].sum() / max(outcome.usable[span].sum(), 1)
    return float(own / (best.cost[span].sum() / max(best.usable[span].sum(), 1)))


def worst_window(outcome: Outcome, fixed: Outcome) -> float:
    """The usable share minus that of the human's order, in points, in the worst window of 1,000 calls."""
    gain = np.cumsum(np.concatenate(([0.0], outcome.usable.astype(float) - fixed.usable[: len(outcome.usable)])))
    size = min(WINDOW, len(outcome.usable))
    return float(100 * (gain[size:] - gain[:-size]).min() / size)


def measure(outcome: Outcome, best: Outcome, fixed: Outcome) -> dict[str, Any]:
    """The figures of one policy in one world."""
    calls = len(outcome.cost)
    figures: dict[str, Any] = {
        "cost_per_usable": float(outcome.cost.sum() / max(outcome.usable.sum(), 1)),
        "ratio_to_clairvoyant": ratio(outcome, best, 0, calls),
        "ratio_after_1000": ratio(outcome, best, 1_000, calls) if calls > 1_000 else None,
        "ratio_after_10000": ratio(outcome, best, 10_000, calls) if calls > 10_000 else None,
        "saving_over_human": 1 - ratio(outcome, best, 0, calls) / ratio(fixed, best, 0, calls),
        "usable_share": float(outcome.usable.mean()),
        "worst_window": worst_window(outcome, fixed),
    }
    figures["curve"] = [ratio(outcome, best, start, start + CURVE) for start in range(0, calls, CURVE)]
    lost = np.cumsum(outcome.cost - best.cost) / best.cost.mean()
    figures["regret"] = lost[np.linspace(0, calls - 1, REGRETS).astype(int)]
    return figures


def summary(found: Sequence[Mapping[str, Any]], calls: int) -> dict[str, Any]:
    """Means over seeds, with 5 and 95 % quantiles."""
    row: dict[str, Any] = {"calls": calls, "seeds": len(found)}
    for name in found[0]:
        if name in ("curve", "regret"):
            row[name] = np.mean([each[name] for each in found], axis=0).round(4).tolist()
            continue
        values = [each[name] for each in found if each[name] is not None]
        if values:
            low, high = np.quantile(values, (0.05, 0.95))
            row[name] = {"mean": float(np.mean(values)), "q05": float(low), "q95": float(high)}
    return row


def litellm_python(venvs: Path) -> Path:
    """The interpreter of LiteLLM's environment, which is created if it is missing."""
    python = venvs / "litellm-chains" / "bin" / "python"
    if not python.exists():
        venv.create(python.parent.parent, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", LITELLM, "numpy"], check=True)
    return python


@functools.cache
def litellm_process(venvs: Path) -> subprocess.Popen[str]:
    """LiteLLM's strategies in their environment, one process for all worlds; it ends with this one."""
    command = [str(litellm_python(venvs)), str(Path(__file__).with_name("litellm_routers.py"))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def litellm_outcomes(process: subprocess.Popen[str], drawn: World, calls: int) -> dict[str, Outcome]:
    """What LiteLLM's strategies make of the first calls of a world."""
    by_name = {f"{provider}/{model}": each for (provider, model, _, _), each in zip(LIST, prices(), strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(
            source,
            models=np.array(drawn.models),
            input_price=np.array([by_name[model][0] for model in drawn.models]),
            output_price=np.array([by_name[model][1] for model in drawn.models]),
            usable=drawn.usable[:calls],
            cost=drawn.cost_usd[:calls],
            seconds=drawn.seconds[:calls],
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{source}\t{target}\n")
        process.stdin.flush()
        while (line := process.stdout.readline()) != "done\n":
            if not line:
                raise RuntimeError(f"LiteLLM's strategies ended with exit code {process.wait()}")
        data = np.load(target)
        names = {key.partition(".")[0] for key in data}
        return {f"LiteLLM {name}": Outcome(data[f"{name}.cost"], data[f"{name}.usable"]) for name in sorted(names)}


def decision_us(size: int) -> float:
    """Median microseconds of one order for a chain of some models, after 2,000 calls."""
    from benchmarks.chains import contestants
    from helmdeck_core import ChainRequest

    fleet = next(each for each in FLEETS if each.size == size)
    drawn = world(fleet, 7, 2_000)
    policy = contestants.make_policy(drawn, fleet, 7)
    contestants.adaptive(drawn, fleet, 7, policy=policy)
    request = ChainRequest(models=tuple(drawn.models), pack="pack0", size_bytes=500, max_attempts=8, sample="hello")
    times = []
    for _ in range(2_000):
        start = time.perf_counter()
        policy.order(request)
        times.append(time.perf_counter() - start)
    return float(np.median(times) * 1e6)


def contest(fleet: Fleet, seed: int, calls: int, names: Sequence[str], venvs: Path | None) -> Mapping[str, Any]:
    """The figures of all policies in one world."""
    drawn = world(fleet, seed, calls)
    best, fixed = clairvoyant(drawn, fleet, seed), human(drawn, fleet, seed)
    outcomes = {name: CONTESTANTS[name](drawn, fleet, seed) for name in names}
    if venvs is not None:
        outcomes |= litellm_outcomes(litellm_process(venvs), drawn, min(calls, PEER_CALLS))
    found = {}
    for name, outcome in outcomes.items():
        shown = slice(0, len(outcome.cost))
        against = Outcome(best.cost[shown], best.usable[shown]), Outcome(fixed.cost[shown], fixed.usable[shown])
        found[name] = measure(outcome, *against)
    return found


def run(
    calls: int,
    seeds: Sequence[int],
    names: Sequence[str],
    venvs: Path | None,
    save: Callable[[Mapping[str, Any]], None],
) -> Mapping[str, Any]:
    """Measure policies on all fleets; ``save`` gets what is known after each world, so that a run may be ended early."""
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {fleet.name: {} for fleet in FLEETS}
    fleets: dict[str, Any] = {}
    for seed in seeds:
        for fleet in FLEETS:
            peers = venvs if seed < seeds[0] + PEER_SEEDS else None
            for name, figures in contest(fleet, seed, calls, names, peers).items():
                found[fleet.name].setdefault(name, []).append(figures)
            fleets[fleet.name] = {
                "is_steady": fleet.is_steady,
                "is_tuned": fleet in TUNED,
                "policies": {
                    name: summary(rows, min(calls, PEER_CALLS) if name.startswith("LiteLLM") else calls)
                    for name, rows in found[fleet.name].items()
                },
            }
            save(fleets)
            shown = fleets[fleet.name]["policies"]["adaptive"]["ratio_to_clairvoyant"]["mean"]
            print(f"{fleet.name}, seed {seed}: adaptive {shown:.3f} x clairvoyant in the mean so far", flush=True)
    return fleets


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the parts that are wanted."""
    figures: dict[str, Any] = {}
    if arguments.replay is not None:
        return {"replay": replay(arguments.replay, arguments.alias, arguments.requests)}

    def save(fleets: Mapping[str, Any]) -> None:
        figures["long" if arguments.long else "fleets"] = fleets
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")

    quick = arguments.quick
    seeds = range(arguments.first_seed, arguments.first_seed + (arguments.seeds or (3 if quick else 20)))
    if not arguments.advice:
        names = LONG if arguments.long else tuple(CONTESTANTS)
        venvs = None if arguments.without_peers or arguments.long else arguments.venvs
        run(arguments.calls or (LONG_CALLS if arguments.long else 12_000), seeds, names, venvs, save)
    if not arguments.long:
        figures["advice"] = coverage(seeds[:10])
    if not (arguments.long or arguments.advice):
        figures["decision_us"] = {str(size): decision_us(size) for size in (3, 5, 12)}
    return figures


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 seeds, at most ten minutes")
    parser.add_argument("--long", action="store_true", help="100,000 calls, without the slow peers")
    parser.add_argument("--advice", action="store_true", help="the intervals of the advice alone")
    parser.add_argument("--replay", metavar="URL", help="the base URL of a real model; it is the weak one of a chain")
    parser.add_argument("--alias", default="smollm2", help="the name that its server knows the model by")
    parser.add_argument("--requests", type=int, default=24, help="of each kind of work of the replay")
    parser.add_argument("--calls", type=int, help="of each world; default: 12,000")
    parser.add_argument("--seeds", type=int, help="of each fleet; default: 20")
    parser.add_argument("--first-seed", type=int, default=0, help="constants were chosen on seeds from 1000 on")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument(
        "--from", type=Path, metavar="FILE", dest="source", help="read the figures instead of measuring"
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/chains.md and its plots")
    parser.add_argument("--without-peers", action="store_true", help="leave LiteLLM's strategies out")
    parser.add_argument(
        "--venvs", type=Path, default=Path.home() / ".cache" / "helmdeck-peers", help="directory of the environments"
    )
    arguments = parser.parse_args(argv)
    if arguments.source is not None:
        figures = json.loads(arguments.source.read_text(encoding="utf-8"))
    else:
        figures = measured(arguments)
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if arguments.write:
        write_page(figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
