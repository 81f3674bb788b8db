"""Runs each agent on one small task over the gateway and a weak model, and writes the table.

GATEWAY_TEST_CLIENTS=FOLDER python -m benchmarks.gateway_agents [--write] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.gateway_agents.model import SOURCE, TEST, EditModel
from benchmarks.gateway_clients.gateway import serving
from benchmarks.gateway_clients.programs import AGENTS, Outcome, Program, setting_in
from benchmarks.pages import write_between

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "gateway-clients.md"
LIMIT_S: Final = 60.0
PROMPT: Final = "The test {test} fails. Correct the function in {source}."


class Result(NamedTuple):
    """The outcome of one run.

    :ivar passes: whether the test of the task passes afterwards.
    :ivar steps: the requests that reached the model, as steps with their faults.
    """

    passes: bool
    ran: Outcome
    steps: list[str]


@contextlib.contextmanager
def edit_model(path: Path) -> Iterator[EditModel]:
    """Run the model within a ``with`` block."""
    model = EditModel(path)
    try:
        yield model
    finally:
        model.close()


def run_task(agent: Program, folder: Path, *, is_direct: bool = False) -> Result:
    """Run one agent on the task, in an empty folder.

    :param is_direct: without the gateway, which an agent can only if it requests chat completions.
    """
    setting = setting_in(folder, "")
    source, test = setting.work / "tide.py", setting.work / "test_tide.py"
    source.write_text(SOURCE)
    test.write_text(TEST)
    with edit_model(source) as model:
        providers = {"weak": {"kind": "openai-compatible", "base_url": model.base_url}}
        config = {"providers": providers, "gateway": {"models": {"*": "weak/m"}}}
        url_of = contextlib.nullcontext(model.base_url.removesuffix("/v1")) if is_direct else serving(config, folder)
        with url_of as url:
            setting = setting._replace(url=url, prompt=PROMPT.format(test=test, source=source))
            ran = agent.run(setting, limit_s=LIMIT_S)
        checked = subprocess.run([sys.executable, str(test)], cwd=setting.work, capture_output=True, check=False)
        return Result(checked.returncode == 0, ran, model.steps)


def _cell(result: Result) -> str:
    status = f"killed after {LIMIT_S:.0f} s" if result.ran.status is None else f"exit {result.ran.status}"
    return f"{'yes' if result.passes else '**no**'}, {status}"


def table(results: Mapping[str, Result], direct: Mapping[str, Result]) -> str:
    """Return the outcomes as a table."""
    lines = [
        "| agent | API | without the gateway | with it | requests to the model, with it |",
        "|---|---|---|---|---|",
    ]
    for name, result in results.items():
        without = _cell(direct[name]) if name in direct else "–"
        lines.append(f"| {name} | {AGENTS[name].api} | {without} | {_cell(result)} | {', '.join(result.steps)} |")
    return "\n".join(lines)


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table of the page")
    parser.add_argument("--only", nargs="+", default=list(AGENTS), help=f"of {', '.join(AGENTS)}")
    parser.add_argument("--verbose", action="store_true", help="print the output of each agent")
    arguments = parser.parse_args()
    results, direct = dict[str, Result](), dict[str, Result]()
    for name in arguments.only:
        agent = AGENTS[name]
        if reason := agent.reason():
            print(f"{name}: {reason}")
            continue
        for found, is_direct in ((results, False), *([(direct, True)] if agent.api == "chat" else ())):
            with tempfile.TemporaryDirectory() as scratch:
                result = found[name] = run_task(agent, Path(scratch), is_direct=is_direct)
            print(f"{name}: {_cell(result)}: {', '.join(result.steps)}", flush=True)
            if arguments.verbose:
                print(result.ran.output[-3_000:], result.ran.errors[-3_000:], sep="\n---\n", flush=True)
    text = table(results, direct)
    print(text)
    if arguments.write:
        write_between(PAGE, "tasks", text)
        versions = (AGENTS[name].version() for name in results)
        write_between(PAGE, "versions of agents", f"Measured with {', '.join(versions)}.")


if __name__ == "__main__":
    main()
