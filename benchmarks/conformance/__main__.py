"""Holds recovery against other libraries on one server that fails by cause.

python -m benchmarks.conformance                      # makes the environments once, and prints the table
python -m benchmarks.conformance --write PAGE.md      # writes it between the page's marks as well
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

from benchmarks.conformance.contestants import CONTESTANTS, GOOD
from helmdeck_core import FailureClass
from helmdeck_core.testing import MODES, OPENAI_CHAT, FailingServer, failing_server
from helmdeck_core.testing.servers import Recorded

ROOT = Path(__file__).resolve().parents[2]
PACKAGES: Mapping[str, str] = {
    "litellm": "litellm==1.106.*",
    "pydantic_ai": "pydantic-ai-slim[openai]",
    "instructor": "instructor",
}
TITLES = {"litellm": "LiteLLM", "pydantic_ai": "pydantic-ai", "instructor": "instructor", "helmdeck": "Helmdeck"}
SURFACES = ("empty_content_filter",)
"""Modes in which another model must not be asked: a refusal is told, not shopped around."""
TEXT = '{"city": "Oslo", "celsius": 3}'

_API = ("APIError", "ModelAPIError")
NAMED: Mapping[FailureClass, Sequence[str]] = {
    FailureClass.RATE_LIMITED: ("RateLimited", "RateLimitError", "ModelRateLimitError"),
    FailureClass.SAFETY_FILTERED: ("SafetyFiltered", "ContentPolicyViolationError", "ContentFilterError"),
    FailureClass.LENGTH_TRUNCATED: ("LengthTruncated", "OutputTokenLimitExceeded", "IncompleteOutputException"),
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
    FailureClass.CONSTRAINED_DEADLOCK: ("ConstrainedDeadlock",),
}
"""What contestants call a cause; the first of these names that an exception has counts."""
ALSO_RIGHT: Mapping[str, Sequence[str]] = {
    "error_in_200": _API,
    "no_end": ("LengthTruncated", "OutputTokenLimitExceeded", "IncompleteOutputException"),
}


@attrs.frozen
class Cell:
    """What one contestant did in one mode.

    :ivar reached: whether a good answer came back.
    :ivar failure: what its failure is called, alone; empty where it took what came for an answer.
    """

    reached: bool
    paid: int
    failure: str
    is_cause_right: bool
    has_bad_answer: bool

    def __str__(self) -> str:
        end = "yes" if self.reached else "**took it**" if self.has_bad_answer else "no"
        what = f"`{self.failure}`" if self.failure else "none"
        return f"{end}, {self.paid}, {what} {'✓' if self.is_cause_right else '✗'}"


def python_of(contestant: str, venvs: Path) -> str:
    """The interpreter of a contestant's environment, which is made at first."""
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


def measure(contestant: str, venvs: Path, server: FailingServer, modes: Sequence[str]) -> dict[str, Cell]:
    """Run one contestant through the modes."""
    command = [python_of(contestant, venvs), "-m", "benchmarks.conformance.contestants", contestant, server.base_url]
    ran = subprocess.run([*command, *modes], cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{contestant} failed:\n{ran.stderr[-2000:]}")
    asked = [str(request.body["model"]) for request in server.requests]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"mode"')]
    return {row["mode"]: _cell(contestant, row, asked) for row in rows}


def _cell(contestant: str, row: Mapping[str, Any], asked: Sequence[str]) -> Cell:
    mode, chain, alone = row["mode"], row["chain"], row["alone"]
    # A request to the good model belongs to the failing one before it.
    paid, is_ours = 0, False
    for model in asked:
        is_ours = model == f"{contestant}:{mode}" or (is_ours and model == GOOD)
        paid += is_ours
    cause = MODES[mode].cause
    names = alone.get("names", [])
    found = next((name for name in names if any(name in known for known in NAMED.values())), "")
    right = cause is not None and (found in NAMED[cause] or any(name in ALSO_RIGHT.get(mode, ()) for name in names))
    is_good = bool(chain.get("is_good"))
    return Cell(
        reached=is_good,
        paid=paid,
        failure=found if right and found else alone.get("failure", ""),
        is_cause_right=right,
        has_bad_answer="answer" in chain and not is_good,
    )


def table(cells: Mapping[str, Mapping[str, Cell]], modes: Sequence[str]) -> list[str]:
    """The table as Markdown."""
    lines = [
        f"| the first model | wanted | {' | '.join(TITLES[each] for each in cells)} |",
        f"|---|---|{'---|' * len(cells)}",
    ]
    for mode in modes:
        wanted = "told" if mode in SURFACES else "second model"
        row = " | ".join(str(found[mode]) for found in cells.values())
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
    parser.add_argument("--write", type=Path, help="a page with the marks <!-- table --> and <!-- end -->")
    given = parser.parse_args()
    modes = [name for name, mode in MODES.items() if mode.cause is not None and name not in BESIDE_THE_POINT]
    with failing_server(OPENAI_CHAT, mode_of, text=TEXT) as server:
        cells = {each: measure(each, given.venvs, server, modes) for each in given.only}
    lines = table(cells, modes)
    print("\n".join(lines))
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        head, _, rest = page.partition("<!-- table -->\n")
        _, _, tail = rest.partition("<!-- end -->")
        given.write.write_text(f"{head}<!-- table -->\n{chr(10).join(lines)}\n<!-- end -->{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
