"""Executes the code blocks of a page and inserts their real output.

A comment directly above a fenced block declares its kind:

``<!-- example: NAME.py -->``
    the source of ``docs/examples/NAME.py``
``<!-- install: DISTRIBUTION NAME=MODULE -->``
    with an example: from here on, the file is an installed plugin with an entry point; the page shows how it is installed
``<!-- file: NAME -->``
    a file that is created in the reader's directory; with an example, a console block of the page loads it
``<!-- output: NAME.py -->``
    the output of ``docs/examples/NAME.py``; without a name, of the last Python block
``<!-- shown: 1-9, 12- -->``
    the lines of a console block's output to keep; ``...`` replaces the others
``<!-- exits: 13 -->``
    the exit codes of the commands of a console block that fail, in their order; all others must succeed
``<!-- not run: REASON -->``
    not executed

``<!-- folder -->`` on a line of its own begins a new directory: nothing of the sections above is in it.

All other ``console`` and ``python`` blocks run in the order of the page, in one directory, isolated from the plugins,
environment variables and configuration of the machine.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib
import importlib.metadata
import inspect
import io
import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS / "examples"
HOME = "~/deck"
"""The name of the reader's directory in the output."""

BLOCK = re.compile(
    r"^(?P<marks>(?:<!-- [^\n]*? -->\n)*)(?P<fence>`{3,})(?P<language>\w*)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"<!-- (?P<word>example|install|file|output|shown|exits|not run)(?:: (?P<value>.*?))? -->")

HISTORY_MARK = "<!-- history -->"
"""In a page whose commands have the history of the command line, as they have for a reader who follows it in order."""

FOLDER_MARK = "<!-- folder -->\n"
"""Before a section whose commands begin in an empty directory."""

# Times and call ids differ between runs.
_TIMES = (
    (re.compile(r'("latency_s": )[\d.e-]+'), r"\g<1>0.02"),
    (re.compile(r"\b(again after )\d+\.\d s\b"), r"\g<1>0.5 s"),
    (re.compile(r"^(call .*, )\d+\.\d s", re.MULTILINE), r"\g<1>0.0 s"),
    # A failure states its time only if it was not short.
    (re.compile(r"^(call (?!.*\bstop reason\b).*), 0\.0 s$", re.MULTILINE), r"\g<1>"),
    (re.compile(r"^(.*\d\. \S+: \w+) after \d+\.\d s", re.MULTILINE), r"\g<1>"),
    (re.compile(r"^((?:usage|took) +)\d+\.\d s", re.MULTILINE), r"\g<1>0.0 s"),
    (re.compile(r"\b\d\.\d{3} s\b"), "0.000 s"),
    (re.compile(r"\b19\.\d s\b"), "20.0 s"),  # the rest of a deadline of 20 seconds
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "2026-01-01 12:00:00 UTC"),
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{10}\b"), "20260101-120000-3f0c9a5b71"),
    (re.compile(r"( UTC, )\d+\.\d s"), r"\g<1>0.0 s"),
    (re.compile(r'("call_id": "|^call id +|, call )[0-9a-f]{16}\b', re.MULTILINE), r"\g<1>3f0c9a5b71d24e86"),
)


class Console:
    """Executes the blocks of one page in a temporary directory."""

    def __init__(self, folder: Path, *, has_history: bool = False) -> None:
        self.folder = folder
        self._history = "sqlite:" if has_history else None
        self._site = folder / "site-packages"
        self._work = folder / "work"
        self._work.mkdir()
        # The tutorial copies this file in a block that is not executed; the README is read in a clone.
        for place in (self._work, self._work / "docs" / "examples"):
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(EXAMPLES / "announcement.txt", place)
        self._own = {"HELMDECK_DATA_DIR": str(folder / "data")}
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed = ""
        self._code = 0

    # -- blocks ------------------------------------------------------------------------------------------

    def block(self, match: re.Match[str]) -> str:
        """Run one block and return its updated text."""
        matches = (_MARK.fullmatch(line) for line in match["marks"].splitlines())
        marks = {mark["word"]: mark["value"] for mark in matches if mark}
        body, language = match["body"], match["language"]
        if "not run" not in marks:
            body = self._body(marks, language, body)
        return f"{match['marks']}{match['fence']}{language}\n{body}{match['fence']}"

    def _body(self, marks: Mapping[str, str | None], language: str, body: str) -> str:
        if name := marks.get("example"):
            body = (EXAMPLES / name).read_text(encoding="utf-8")
            if distribution := marks.get("install"):
                self._install(distribution, body)
        if name := marks.get("file"):
            path = self._work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        if marks.keys() & {"example", "file"}:
            return body
        if "output" in marks:
            return _lines(self._script(EXAMPLES / marks["output"]) if marks["output"] else self._printed)
        if language == "python":
            self._printed = self._python(body)
        elif language == "console":
            return self._console(body, marks.get("shown") or "", marks.get("exits") or "")
        return body

    def _install(self, specification: str, source: str) -> None:
        from helmdeck_testing import write_distribution

        distribution, point = specification.split()
        plugin, _, module = point.partition("=")
        write_distribution(self._site, distribution, {plugin: module}, {module: source})
        importlib.invalidate_caches()

    def _python(self, source: str) -> str:
        with _captured() as out:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in a notebook
            done = eval(compile(source, "<page>", "exec", flags, dont_inherit=True), self._names)  # noqa: S307
            if inspect.iscoroutine(done):
                asyncio.run(done)
        return self._masked(out.getvalue())

    def _script(self, path: Path) -> str:
        with _captured() as out:
            runpy.run_path(str(path), run_name="__main__")
        return self._masked(out.getvalue())

    # -- console -----------------------------------------------------------------------------------------

    def _console(self, body: str, shown: str, exits: str) -> str:
        written: list[str] = []
        failures: list[int] = []
        for command in _commands(body):
            output = self._command(command.replace("\\\n", ""))
            failures += [self._code] if self._code else []
            written.append(f"$ {command}\n{_shown_lines(_lines(self._masked(output)), shown)}")
        if (codes := ", ".join(map(str, failures))) != exits:
            declared = f"<!-- exits: {exits} -->" if exits else "success"
            raise ValueError(f"exit codes {codes or '0'}, but the page declares {declared}:\n{''.join(written)}")
        return "\n".join(written) if _has_blank_lines_between_commands(body) else "".join(written)

    def _command(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        variables = {}
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        target = words.pop() if len(words) > 2 and words[-2] == ">" and words.pop(-2) else None
        # ``mock`` restores all variables afterwards, those of ``export`` included.
        own = mock.patch.dict(os.environ, variables) if variables else contextlib.nullcontext()
        with own, _captured() as out, _captured_errors(out if not target else None):
            self._code = self._run(words)
        if target is None:
            return out.getvalue()
        (self._work / target).write_text(out.getvalue(), encoding="utf-8")
        return ""

    def _run(self, words: list[str]) -> int:
        """Run one command and return its exit code."""
        match words:
            case ["helmdeck", *rest]:
                from helmdeck_core.cli import main

                return main(rest)
            case ["echo", "$?"]:
                print(self._code)
            case ["cat", name]:
                print((self._work / name).read_text(encoding="utf-8"), end="")
            case ["export", setting]:
                name, _, value = setting.partition("=")
                os.environ[name] = value
            case ["unset", name]:
                os.environ.pop(name, None)
            case ["python", name]:
                runpy.run_path(str(self._work / name), run_name="__main__")
            case _:
                raise ValueError(f"a page cannot run {shlex.join(words)!r}; mark the block: <!-- not run: REASON -->")
        return 0

    def _masked(self, text: str) -> str:
        text = text.replace(str(self._work), HOME)
        for pattern, replacement in _TIMES:
            text = pattern.sub(replacement, text)
        return text

    # -- isolation ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Isolate the page from the machine, except for the interpreter and its packages."""
        before, modules = Path.cwd(), set(sys.modules)
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("HELMDECK_") and not name.endswith("_API_KEY")
        }
        path = [str(self._site), str(EXAMPLES), *sys.path]
        with (
            mock.patch.dict(os.environ, {**environment, "COLUMNS": "100", **self._own}, clear=True),
            mock.patch.object(sys, "path", path),
            mock.patch.object(sys, "executable", str(_python())),
            mock.patch.object(sys, "executable", str(_python())),
            # What earlier commands of a page planned changes the scores of later ones.
            mock.patch("helmdeck_core.cli.options.DEFAULT_HISTORY", self._history),
            mock.patch("importlib.metadata.entry_points", self._entry_points),
        ):
            os.chdir(self._work)
            try:
                yield
            finally:
                os.chdir(before)
                # Plugins of different pages may have the same module name.
                for name in set(sys.modules) - modules:
                    if getattr(sys.modules[name], "__file__", None) and _is_below(sys.modules[name], self._site):
                        del sys.modules[name]

    def _entry_points(self, **parameters: Any) -> Any:
        distributions = importlib.metadata.distributions(path=[str(self._site)])
        return importlib.metadata.EntryPoints(point for each in distributions for point in each.entry_points).select(
            **parameters
        )


def render(text: str) -> str:
    """Return the page with the current output of every block."""
    return FOLDER_MARK.join(_render(part, has_history=HISTORY_MARK in text) for part in text.split(FOLDER_MARK))


def _render(text: str, *, has_history: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        console = Console(Path(folder).resolve(), has_history=has_history)
        with console.open():
            return BLOCK.sub(console.block, text)


def _python() -> Path:
    """The interpreter by the name ``python``: scripts of an environment start it as ``python3``, and output shows the name."""
    executable = Path(sys.executable)
    python = executable.with_name("python")
    return python if python.exists() else executable


def _is_below(module: Any, folder: Path) -> bool:
    return Path(module.__file__).is_relative_to(folder)


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out


@contextlib.contextmanager
def _captured_errors(out: io.StringIO | None) -> Iterator[None]:
    """Add errors to the output, as on a terminal; discard them if the output is redirected to a file."""
    with contextlib.redirect_stderr(out or io.StringIO()):
        yield


def _commands(body: str) -> Iterator[str]:
    """Yield the commands of a console block; a trailing backslash continues a line."""
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)
            yield command


def _has_blank_lines_between_commands(body: str) -> bool:
    """Return whether blank lines separate the commands."""
    return body.count("\n$ ") > 0 and body.count("\n\n$ ") == body.count("\n$ ")


def _lines(text: str) -> str:
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return f"{text}\n" if text else ""


def _shown_lines(text: str, shown: str) -> str:
    """Return the lines in ``shown``, with ``...`` for the others."""
    if not shown:
        return text
    lines = text.splitlines()
    numbers: set[int] = set()
    for part in shown.split(","):
        first, dash, last = part.strip().partition("-")
        numbers |= set(range(int(first), (int(last) if last else len(lines)) + 1 if dash else int(first) + 1))
    result: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in numbers:
            result.append(line)
        elif not result or result[-1] != "...":
            result.append("...")
    return "\n".join(result) + "\n"
