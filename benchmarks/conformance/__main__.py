"""Holds recovery against other libraries on one server that fails by cause.

python -m benchmarks.conformance                      # makes the environments once, and prints the tables
python -m benchmarks.conformance --write PAGE.md      # writes them between the page's marks as well
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.conformance.contestants import CONTESTANTS, GOOD, STREAMS
from benchmarks.pages import write_between
from helmdeck_core import FailureClass
from helmdeck_testing import MODES, OPENAI_CHAT, FailingServer, failing_server
from helmdeck_testing.servers import Recorded

ROOT = Path(__file__).resolve().parents[2]
PACKAGES: Mapping[str, str] = {
    "litellm": "litellm==1.106.*",
    "pydantic_ai": "pydantic-ai-slim[openai]",
    "instructor": "instructor",
}
ENVIRONMENTS: Mapping[str, str] = {"litellm_validated": "litellm"}
"""Of those that share one."""
TITLES = {
    "litellm": "LiteLLM",
    "litellm_validated": "LiteLLM, validating",
    "pydantic_ai": "pydantic-ai",
    "instructor": "instructor",
    "helmdeck": "Helmdeck",
}
TOLD: Mapping[str, Sequence[str]] = {
    "whole": ("empty_content_filter",),
    "streamed": ("empty_content_filter", "error_in_200", "no_end", "cut_body"),
}
"""Modes in which another model must not be asked: a refusal is told, not shopped around, and what was given on stays."""
OF_OBJECTS = ("cut_json_length", "cut_json_stop", "whitespace_loop")
"""Modes that say nothing of a text."""
ENDED = ("stop", "EndTurn", None)
"""Reasons that call a text finished, or say nothing about it."""
TEXT = '{"city": "Oslo", "celsius": 3}'

_API = ("APIError", "ModelAPIError")
NAMED: Mapping[FailureClass, Sequence[str]] = {
    FailureClass.RATE_LIMITED: ("RateLimited", "RateLimitError", "ModelRateLimitError"),
    FailureClass.SAFETY_FILTERED: (
        "SafetyFiltered",
        "ContentPolicyViolationError",
        "ContentFilterError",
        "content_filter",
    ),
    FailureClass.LENGTH_TRUNCATED: (
        "LengthTruncated",
        "OutputTokenLimitExceeded",
        "IncompleteOutputException",
        "length",
    ),
    FailureClass.LIKELY_TIMEOUT: ("LikelyTimeout", "Timeout", "APITimeoutError", "ModelTimeoutError"),
    FailureClass.PROVIDER_UNAVAILABLE: (
        "ProviderUnavailable",
        "InternalServerError",
        "ServiceUnavailableError",
        "ModelServerError",
        "ModelUnavailableError",
        "APIConnectionError",
        "ModelConnectionError",
    ),
    FailureClass.CONSTRAINED_DEADLOCK: ("ConstrainedDeadlock", "JSONSchemaValidationError"),
}
"""What contestants call a cause: the first of these names that an exception has counts, or the reason for a text's end."""
ALSO_RIGHT: Mapping[str, Sequence[str]] = {
    "error_in_200": _API,
    "no_end": ("LengthTruncated", "OutputTokenLimitExceeded", "IncompleteOutputException", "Unknown"),
}


@attrs.frozen
class Cell:
    """What one contestant did in one mode.

    :ivar reached: whether a good answer came back.
    :ivar is_told: whether a part was given on and the failure told behind it.
    :ivar failure: what its failure is called, alone; empty where it took what came for an answer.
    """

    reached: bool
    is_told: bool
    paid: int
    failure: str
    is_cause_right: bool
    has_bad_answer: bool

    def __str__(self) -> str:
        end = "yes" if self.reached else "told" if self.is_told else "**took it**" if self.has_bad_answer else "no"
        what = f"`{self.failure}`" if self.failure else "none"
        return f"{end}, {self.paid}, {what} {'✓' if self.is_cause_right else '✗'}"


def python_of(contestant: str, venvs: Path) -> str:
    """The interpreter of a contestant's environment, which is made at first."""
    contestant = ENVIRONMENTS.get(contestant, contestant)
    if contestant not in PACKAGES:
        return sys.executable
    python = venvs / contestant / "bin" / "python"
    if not python.exists():
        venv.create(venvs / contestant, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PACKAGES[contestant]], check=True)
    return str(python)


def mode_of(request: Recorded) -> str:
    """The mode stands in the model's name."""
    return str(request.body["model"]).rpartition(":")[2]


@attrs.frozen
class Measured:
    """What one contestant did.

    :ivar versions: of the libraries in its environment.
    """

    cells: Mapping[str, Cell]
    versions: Mapping[str, str]


def measure(contestant: str, way: str, venvs: Path, server: FailingServer, modes: Sequence[str]) -> Measured:
    """Run one contestant through the modes.

    :param way: ``whole`` or ``streamed``.
    """
    python = python_of(contestant, venvs)
    command = [python, "-m", "benchmarks.conformance.contestants", contestant, way, server.base_url]
    ran = subprocess.run([*command, *modes], cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{contestant} failed:\n{ran.stderr[-2000:]}")
    asked = [str(request.body["model"]) for request in server.requests]
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"')]
    (versions,) = (row["versions"] for row in found if "versions" in row)
    cells = {row["mode"]: _cell(f"{contestant}-{way}", row, asked) for row in found if "mode" in row}
    return Measured(cells, versions)


def _cell(name: str, row: Mapping[str, Any], asked: Sequence[str]) -> Cell:
    mode, chain, alone = row["mode"], row["chain"], row["alone"]
    # A request to the good model belongs to the failing one before it.
    paid, is_ours = 0, False
    for model in asked:
        is_ours = model == f"{name}:{mode}" or (is_ours and model == GOOD)
        paid += is_ours
    cause = MODES[mode].cause
    # A text that ended for a reason that is none of a finished one tells in that way.
    reasons = [] if alone.get("reason") in ENDED else [alone["reason"]]
    names = alone.get("names", reasons)
    also = ALSO_RIGHT.get(mode, ())
    found = next((name for name in names if name in also or any(name in known for known in NAMED.values())), "")
    right = cause is not None and (found in NAMED[cause] or any(name in also for name in names))
    is_good = bool(chain.get("is_good"))
    is_told = not is_good and ("shown" in chain or chain.get("reason") not in ENDED)
    return Cell(
        reached=is_good,
        is_told=is_told,
        paid=paid,
        failure=found if right and found else alone.get("failure", "".join(reasons)),
        is_cause_right=right,
        has_bad_answer="answer" in chain and not is_good,
    )


def table(found: Mapping[str, Measured], way: str, modes: Sequence[str]) -> list[str]:
    """The table as Markdown."""
    lines = [
        f"| the first model | wanted | {' | '.join(TITLES[each] for each in found)} |",
        f"|---|---|{'---|' * len(found)}",
    ]
    for mode in modes:
        wanted = "told" if mode in TOLD[way] else "second model"
        row = " | ".join(str(each.cells[mode]) for each in found.values())
        lines.append(f"| {mode.replace('_', ' ')} | {wanted} | {row} |")
    return lines


BESIDE_THE_POINT = {"tool_call_at_limit", "unauthorized", "bad_request", "redirect", "html_page", "alien_json"}
"""Modes that no other model can mend, or that are about an adapter and not about a model that fails."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--venvs", type=Path, default=Path.home() / ".cache" / "helmdeck-peers", help="where they stand"
    )
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=list(CONTESTANTS))
    parser.add_argument("--write", type=Path, help="a page with the marks of both tables")
    given = parser.parse_args()
    modes = [name for name, mode in MODES.items() if mode.cause is not None and name not in BESIDE_THE_POINT]
    versions: dict[str, Mapping[str, str]] = {}
    for way, known, left_out in (("whole", CONTESTANTS, ()), ("streamed", STREAMS, OF_OBJECTS)):
        with failing_server(OPENAI_CHAT, mode_of, text=TEXT) as server:
            asked = [mode for mode in modes if mode not in left_out]
            found = {each: measure(each, way, given.venvs, server, asked) for each in given.only if each in known}
        versions |= {ENVIRONMENTS.get(name, name): each.versions for name, each in found.items() if each.versions}
        lines = "\n".join(table(found, way, asked))
        print(f"{lines}\n")
        if given.write:
            write_between(given.write, way, lines)
    told = "; ".join(", ".join(f"{name} {number}" for name, number in each.items()) for each in versions.values())
    print(told)
    if given.write:
        write_between(given.write, "versions", f"Measured with {told}.")


if __name__ == "__main__":
    main()
