"""Results of single cases, their file, and their sums."""

from __future__ import annotations

import collections
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

Z95 = 1.959963984540054
Z95_ONE_SIDED = 1.645


@attrs.frozen(kw_only=True)
class Result:
    """What one way did with one case in one run.

    :ivar valid: the answer has the requested form.
    :ivar right: it is valid and correct.
    :ivar invented: it names a tool that does not exist.
    :ivar cause: why it is not right; empty if it is.
    :ivar seconds: from the request of the caller to the answer.
    :ivar detail: further figures of a task, by name.
    """

    task: str
    way: str
    case: str
    run: int
    valid: bool = False
    right: bool = False
    invented: bool = False
    cause: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    answer: str = ""
    detail: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What is measured once."""
        return self.task, self.way, self.case, self.run


class ResultFile:
    """Results as JSON lines, so that an interrupted measurement can be continued.

    :param path: the file; ``None`` keeps the results in memory.
    """

    def __init__(self, path: Path | None, *, resume: bool) -> None:
        self._path = path
        self.results: dict[tuple[str, str, str, int], Result] = {}
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            if resume and path.is_file():
                for each in _read(path):
                    self.results[each.key] = each
            else:
                path.write_text("", encoding="utf-8")

    def add(self, result: Result) -> None:
        """Add a result and append it to the file."""
        self.results[result.key] = result
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(attrs.asdict(result), ensure_ascii=False) + "\n")

    def of(self, task: str, way: str) -> list[Result]:
        """Return the results of one task and way."""
        return [each for each in self.results.values() if (each.task, each.way) == (task, way)]


def _read(path: Path) -> Iterator[Result]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # the line that was written when the measurement was interrupted
            continue
        yield Result(**row)


@attrs.frozen(kw_only=True)
class Sums:
    """The sums of one way in one task.

    :ivar n: measured cases, those of all runs together.
    :ivar requests: different cases among them.
    :ivar causes: failures by cause.
    :ivar details: sums of the further figures of a task.
    """

    n: int
    requests: int
    valid: int
    right: int
    invented: int
    calls: int
    prompt_tokens: int
    output_tokens: int
    seconds: float
    causes: Mapping[str, int]
    details: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Return the sums as one JSON object."""
        return {**attrs.asdict(self), "seconds": round(self.seconds, 2)}


def sums(results: Sequence[Result]) -> Sums:
    """Add up results."""
    causes = collections.Counter(each.cause for each in results if each.cause)
    details = collections.Counter[str]()
    for each in results:
        details.update({name: value for name, value in each.detail.items() if isinstance(value, (int, float))})
    return Sums(
        n=len(results),
        requests=len({each.case for each in results}),
        valid=sum(each.valid for each in results),
        right=sum(each.right for each in results),
        invented=sum(each.invented for each in results),
        calls=sum(each.calls for each in results),
        prompt_tokens=sum(each.prompt_tokens for each in results),
        output_tokens=sum(each.output_tokens for each in results),
        seconds=sum(each.seconds for each in results),
        causes=dict(causes.most_common()),
        details=dict(details),
    )


def compare(first: Sequence[Result], second: Sequence[Result]) -> dict[str, Any]:
    """Compare two ways on the requests that both measured: on how many each is right more often, and a one-sided sign test.

    ``difference`` is that of the shares of right answers, and ``above`` its lower bound, one-sided 95 %. ``p_below`` is the probability of as many requests on which ``first`` is worse, or more, if both were equally good: below 0.05, it
    is worse.
    """
    rates = [_rates(first), _rates(second)]
    shared = [(rates[0][case], rates[1][case]) for case in rates[0] if case in rates[1]]
    better, worse = sum(one > other for one, other in shared), sum(one < other for one, other in shared)
    total = better + worse
    p_below = sum(math.comb(total, each) for each in range(worse, total + 1)) / 2**total
    gains = [one - other for one, other in shared]
    mean = sum(gains) / len(gains) if gains else 0.0
    spread = (sum((gain - mean) ** 2 for gain in gains) / max(1, len(gains))) ** 0.5 / max(1, len(gains)) ** 0.5
    bounds = {"difference": round(mean, 4), "above": round(mean - Z95_ONE_SIDED * spread, 4)}
    return {"requests": len(shared), "better": better, "worse": worse, "p_below": round(p_below, 4), **bounds}


def by_set(first: Sequence[Result], second: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Compare two ways on the requests of each set, with the shares of right answers of both."""
    found = {}
    for name in sorted({each.detail.get("set", "") for each in first} - {""}):
        mine, others = ([each for each in side if each.detail.get("set") == name] for side in (first, second))
        shared = _rates(mine).keys() & _rates(others).keys()
        right = [sum(_rates(side)[case] for case in shared) for side in (mine, others)]
        found[name] = {**compare(mine, others), "right": right}
    return found


def _rates(results: Sequence[Result]) -> dict[str, float]:
    found: dict[str, list[bool]] = {}
    for each in results:
        found.setdefault(each.case, []).append(each.right)
    return {case: sum(right) / len(right) for case, right in found.items()}


def wilson(successes: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's interval of a proportion, from 0 to 1; the whole range without observations."""
    if n <= 0:
        return 0.0, 1.0
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    spread = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - spread), min(1.0, middle + spread)


def interval(successes: int, n: int, requests: int) -> tuple[float, float]:
    """Return the interval of a proportion of ``n`` cases over requests: repeated runs of a request are no further requests."""
    return wilson(successes / n * requests, requests) if n else (0.0, 1.0)
