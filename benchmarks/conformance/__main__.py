"""Compares failure recovery with other libraries on a server that fails on demand.

python -m benchmarks.conformance                      # creates the environments once, then prints the tables
python -m benchmarks.conformance --write PAGE.md      # also writes them between the markers of the page
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
    "llm": "llm",
}
ENVIRONMENTS: Mapping[str, str] = {"litellm_validated": "litellm"}
"""Contestants that share an environment."""
TITLES = {
    "litellm": "LiteLLM",
    "litellm_validated": "LiteLLM, validating",
    "pydantic_ai": "pydantic-ai",
    "instructor": "instructor",
    "llm": "llm",
    "helmdeck": "Helmdeck",
}
REPORTED: Mapping[str, Sequence[str]] = {
    "whole": ("empty_content_filter",),
    "streamed": ("empty_content_filter",),
}
"""Modes in which no fallback may be used: refusals."""
OBJECT_MODES = ("cut_json_length", "cut_json_stop", "whitespace_loop")
"""Modes that do not apply to plain text."""
INTERRUPTED_MODES = ("error_in_200", "no_end", "cut_body")
"""Modes that interrupt a stream; ``benchmarks.faults`` measures whether it is continued."""
ENDED = ("stop", "EndTurn", None)
"""Finish reasons of a complete or unknown end."""
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
"""Accepted names of each cause: exception classes, of which the first match counts, and finish reasons."""
ALSO_RIGHT: Mapping[str, Sequence[str]] = {
    "error_in_200": _API,
    "no_end": ("LengthTruncated", "OutputTokenLimitExceeded", "IncompleteOutputException", "Unknown"),
}


@attrs.frozen
class Cell:
    """The result of one contestant in one mode.

    :ivar reached: a good response was returned.
    :ivar is_reported: a partial response was yielded, then the failure was reported.
    :ivar failure: name of the failure without a fallback; empty if a bad response was accepted.
    """

    reached: bool
    is_reported: bool
    paid: int
    failure: str
    is_cause_right: bool
    has_bad_answer: bool

    def __str__(self) -> str:
        end = (
            "yes"
            if self.reached
            else "reported"
            if self.is_reported
            else "**accepted**"
            if self.has_bad_answer
            else "no"
        )
        name = f"`{self.failure}`" if self.failure else "none"
        return f"{end}, {self.paid}, {name} {'✓' if self.is_cause_right else '✗'}"


def python_of(contestant: str, venvs: Path) -> str:
    """Return the interpreter of a contestant's environment, creating it if it is missing."""
    contestant = ENVIRONMENTS.get(contestant, contestant)
    if contestant not in PACKAGES:
        return sys.executable
    python = venvs / contestant / "bin" / "python"
    if not python.exists():
        venv.create(venvs / contestant, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PACKAGES[contestant]], check=True)
    return str(python)


def mode_of(request: Recorded) -> str:
    """Return the mode, which is part of the model name."""
    return str(request.body["model"]).rpartition(":")[2]


@attrs.frozen
class Measured:
    """The results of one contestant.

    :ivar versions: library versions in its environment.
    """

    cells: Mapping[str, Cell]
    versions: Mapping[str, str]


def measure(
    contestant: str,
    way: str,
    venvs: Path,
    server: FailingServer,
    modes: Sequence[str],
    module: str = "benchmarks.conformance.contestants",
) -> Measured:
    """Run one contestant through the modes.

    :param way: ``whole`` or ``streamed``.
    :param module: the module with the contestants.
    """
    python = python_of(contestant, venvs)
    command = [python, "-m", module, contestant, way, server.base_url]
    ran = subprocess.run([*command, *modes], cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{contestant} failed:\n{ran.stderr[-2000:]}")
    models = [str(request.body["model"]) for request in server.requests]
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"')]
    (versions,) = (row["versions"] for row in found if "versions" in row)
    cells = {row["mode"]: _cell(f"{contestant}-{way}", row, models) for row in found if "mode" in row}
    return Measured(cells, versions)


def _cell(name: str, row: Mapping[str, Any], models: Sequence[str]) -> Cell:
    mode, chain, alone = row["mode"], row["chain"], row["alone"]
    # A request to the good model belongs to the preceding failing one.
    paid, is_ours = 0, False
    for model in models:
        is_ours = model == f"{name}:{mode}" or (is_ours and model == GOOD)
        paid += is_ours
    cause = MODES[mode].cause
    # An unusual finish reason also reports the failure.
    reasons = [] if alone.get("reason") in ENDED else [alone["reason"]]
    names = alone.get("names", reasons)
    also = ALSO_RIGHT.get(mode, ())
    found = next((name for name in names if name in also or any(name in known for known in NAMED.values())), "")
    right = cause is not None and (found in NAMED[cause] or any(name in also for name in names))
    is_good = bool(chain.get("is_good"))
    is_reported = not is_good and ("shown" in chain or chain.get("reason") not in ENDED)
    return Cell(
        reached=is_good,
        is_reported=is_reported,
        paid=paid,
        failure=found if right and found else alone.get("failure", "".join(reasons)),
        is_cause_right=right,
        has_bad_answer="answer" in chain and not is_good,
    )


def table(found: Mapping[str, Measured], way: str, modes: Sequence[str]) -> list[str]:
    """Return the table as Markdown."""
    lines = [
        f"| first model | expected | {' | '.join(TITLES[each] for each in found)} |",
        f"|---|---|{'---|' * len(found)}",
    ]
    for mode in modes:
        expected = "reported" if mode in REPORTED[way] else "second model"
        row = " | ".join(str(each.cells[mode]) for each in found.values())
        lines.append(f"| {mode.replace('_', ' ')} | {expected} | {row} |")
    return lines


EXCLUDED_MODES = {"tool_call_at_limit", "unauthorized", "bad_request", "redirect", "html_page", "alien_json"}
"""Modes that no fallback can fix, or that test an adapter instead of a failing model."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--venvs", type=Path, default=Path.home() / ".cache" / "helmdeck-peers", help="directory of the environments"
    )
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=list(CONTESTANTS))
    parser.add_argument("--write", type=Path, help="page with the markers of both tables")
    arguments = parser.parse_args()
    modes = [name for name, mode in MODES.items() if mode.cause is not None and name not in EXCLUDED_MODES]
    versions: dict[str, Mapping[str, str]] = {}
    for way, known, left_out in (
        ("whole", CONTESTANTS, ()),
        ("streamed", STREAMS, (*OBJECT_MODES, *INTERRUPTED_MODES)),
    ):
        with failing_server(OPENAI_CHAT, mode_of, text=TEXT) as server:
            selected = [mode for mode in modes if mode not in left_out]
            found = {
                each: measure(each, way, arguments.venvs, server, selected) for each in arguments.only if each in known
            }
        versions |= {ENVIRONMENTS.get(name, name): each.versions for name, each in found.items() if each.versions}
        lines = "\n".join(table(found, way, selected))
        print(f"{lines}\n")
        if arguments.write:
            write_between(arguments.write, way, lines)
    summary = "; ".join(", ".join(f"{name} {number}" for name, number in each.items()) for each in versions.values())
    print(summary)
    if arguments.write:
        write_between(arguments.write, "versions", f"Measured with {summary}.")


if __name__ == "__main__":
    main()
