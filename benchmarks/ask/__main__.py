"""Compares ``ask`` with other libraries: on a server that fails on demand, and by lines of code for everyday tasks.

python -m benchmarks.ask                                       # creates the environments once, then prints the tables
python -m benchmarks.ask --write docs/benchmarks/ask.md        # also writes them between the markers of the page
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.ask.contestants import CONTESTANTS
from benchmarks.conformance.__main__ import EXCLUDED_MODES, measure, mode_of, python_of, table
from benchmarks.pages import write_between
from helmdeck_testing import MODES, OPENAI_CHAT, failing_server

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks" / "ask.md"
TEXT = '{"city": "Oslo", "celsius": 3}'
OWN_SERVER = "http://localhost:8080/v1"
"""The URL in the programs, which is replaced by that of a loopback server."""
TASKS: Mapping[str, str] = {
    "text": "text",
    "typed": "typed",
    "stream": "streamed",
    "fallback": "second model",
    "server": "own server",
}
_PROGRAM = re.compile(r"^<!-- task: (\w+) (\w+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(page: Path) -> dict[tuple[str, str], str]:
    """Return the programs on a page, by task and library."""
    found = _PROGRAM.findall(page.read_text(encoding="utf-8"))
    return {(task, name): body for task, name, body in found}


def lines_of(program: str) -> int:
    """Return the number of lines that are not blank."""
    return sum(bool(line.strip()) for line in program.splitlines())


def run(program: str, python: str, *, is_shell: bool) -> str:
    """Run a program with the interpreter of its library against a loopback server; return its output.

    :raises SystemExit: it failed, or printed no answer.
    """
    with failing_server(OPENAI_CHAT, lambda _: "good", text=TEXT) as server, tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]) if python == sys.executable else "",
            "OPENAI_API_KEY": "sk-none",
            "OPENAI_BASE_URL": server.base_url,
            "HELMDECK_PROVIDERS__OPENAI__BASE_URL": server.base_url,
            "LLM_USER_PATH": folder,
        }
        command = ["sh", "-c"] if is_shell else [python, "-W", "ignore", "-c"]
        source = program.replace(OWN_SERVER, server.base_url)
        ran = subprocess.run(
            [*command, source], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if ran.returncode or "3" not in ran.stdout or not server.requests:
            raise SystemExit(f"a program failed:\n{program}\n{ran.stdout}{ran.stderr[-2000:]}")
        return ran.stdout


def lines_table(page: Path, venvs: Path) -> list[str]:
    """Run every program of a page and return the table of their lengths as Markdown."""
    found = programs(page)
    titles = {"instructor": "instructor", "pydantic_ai": "pydantic-ai", "llm": "llm", "helmdeck": "Helmdeck"}
    for (_, name), program in found.items():
        run(program, python_of(name, venvs), is_shell=name == "llm")
    rows = [
        f"| {title} | {' | '.join(str(lines_of(found[task, name])) for name in titles)} |"
        for task, title in TASKS.items()
    ]
    total = " | ".join(str(sum(lines_of(found[task, name]) for task in TASKS)) for name in titles)
    return [f"| task | {' | '.join(titles.values())} |", "|---|---|---|---|---|", *rows, f"| all | {total} |"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--venvs", type=Path, default=Path.home() / ".cache" / "helmdeck-peers", help="directory of the environments"
    )
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), choices=list(CONTESTANTS))
    parser.add_argument("--write", type=Path, help="page with the markers of the tables")
    arguments = parser.parse_args()
    lines = "\n".join(lines_table(PAGE, arguments.venvs))
    print(f"{lines}\n")
    modes = [name for name, mode in MODES.items() if mode.cause is not None and name not in EXCLUDED_MODES]
    with failing_server(OPENAI_CHAT, mode_of, text=TEXT) as server:
        found = {
            each: measure(each, "whole", arguments.venvs, server, modes, module="benchmarks.ask.contestants")
            for each in arguments.only
        }
    whole = "\n".join(table(found, "whole", modes))
    versions = "; ".join(
        ", ".join(f"{name} {number}" for name, number in each.versions.items()) for each in found.values()
    )
    print(f"{whole}\n\n{versions}")
    if arguments.write:
        write_between(arguments.write, "lines", lines)
        write_between(arguments.write, "whole", whole)
        write_between(arguments.write, "versions", f"Measured with {versions.rstrip('; ')}.")


if __name__ == "__main__":
    main()
