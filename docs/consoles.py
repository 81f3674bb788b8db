"""Runs the blocks of a page, so that what the page shows is what really happens.

A comment directly above a fenced block says what the block is:

``<!-- example: NAME.py -->``
    the text of ``docs/examples/NAME.py``
``<!-- install: DISTRIBUTION NAME=MODULE -->``
    with an example: from here on, the file is an installed plugin, found by its metadata
``<!-- file: NAME -->``
    a file that stands in the reader's folder from here on
``<!-- output: NAME.py -->``
    what ``docs/examples/NAME.py`` prints; without a name, what the last Python block printed
``<!-- shown: 1-9, 12- -->``
    the lines that are kept of a console block's output; ``...`` stands for the others
``<!-- not run: REASON -->``
    only to be read

Every other ``console`` and ``python`` block of a page runs, in the order of the page and in one folder. Nothing of the
machine is seen: no plugins, no variables, no configuration of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
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
"""What the reader's folder is called in the output."""

BLOCK = re.compile(
    r"^(?P<marks>(?:<!-- [^\n]*? -->\n)*)(?P<fence>`{3,})(?P<language>\w*)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"<!-- (?P<word>example|install|file|output|shown|not run)(?:: (?P<value>.*?))? -->")

# Times and the ids of calls differ from run to run and mean nothing to a reader.
_TIMES = (
    (re.compile(r'("latency_s": )[\d.e-]+'), r"\g<1>0.02"),
    (re.compile(r"\b(again after )\d+\.\d s\b"), r"\g<1>0.5 s"),
    (re.compile(r"^(call .*, )\d+\.\d s", re.MULTILINE), r"\g<1>0.0 s"),
    (re.compile(r"^((?:usage|took) +)\d+\.\d s", re.MULTILINE), r"\g<1>0.0 s"),
    (re.compile(r"\b\d\.\d{3} s\b"), "0.000 s"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "2026-01-01 12:00:00 UTC"),
    (re.compile(r'("call_id": "|^call id +)[0-9a-f]{16}\b', re.MULTILINE), r"\g<1>3f0c9a5b71d24e86"),
)


class Console:
    """A reader who works through one page, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._site = folder / "site-packages"
        self._work = folder / "work"
        self._work.mkdir()
        # The tutorial's reader copied it; see there.
        shutil.copy(EXAMPLES / "announcement.txt", self._work)
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed = ""
        self._code = 0

    # -- blocks ------------------------------------------------------------------------------------------

    def block(self, match: re.Match[str]) -> str:
        """Run one block and return it as it should stand on the page."""
        found = (_MARK.fullmatch(line) for line in match["marks"].splitlines())
        marks = {mark["word"]: mark["value"] for mark in found if mark}
        body, language = match["body"], match["language"]
        if "not run" not in marks:
            body = self._body(marks, language, body)
        return f"{match['marks']}{match['fence']}{language}\n{body}{match['fence']}"

    def _body(self, marks: Mapping[str, str | None], language: str, body: str) -> str:
        if name := marks.get("example"):
            body = (EXAMPLES / name).read_text(encoding="utf-8")
            if installed := marks.get("install"):
                self._install(installed, body)
            return body
        if name := marks.get("file"):
            path = self._work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
            return body
        if "output" in marks:
            return _lines(self._script(EXAMPLES / marks["output"]) if marks["output"] else self._printed)
        if language == "python":
            self._printed = self._python(body)
        elif language == "console":
            return self._console(body, marks.get("shown") or "")
        return body

    def _install(self, what: str, source: str) -> None:
        from helmdeck_testing import write_distribution

        distribution, point = what.split()
        plugin, _, module = point.partition("=")
        write_distribution(self._site, distribution, {plugin: module}, {module: source})
        importlib.invalidate_caches()

    def _python(self, source: str) -> str:
        with _captured() as out:
            exec(compile(source, "<page>", "exec"), self._names)  # noqa: S102 - the page is ours
        return self._masked(out.getvalue())

    def _script(self, path: Path) -> str:
        with _captured() as out:
            runpy.run_path(str(path), run_name="__main__")
        return self._masked(out.getvalue())

    # -- console -----------------------------------------------------------------------------------------

    def _console(self, body: str, shown: str) -> str:
        written = []
        for command in _commands(body):
            output = self._command(command.replace("\\\n", ""))
            written.append(f"$ {command}\n{_kept(_lines(self._masked(output)), shown)}")
        return "\n".join(written) if _wants_gaps(body) else "".join(written)

    def _command(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        variables = {}
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        target = words.pop() if len(words) > 2 and words[-2] == ">" and words.pop(-2) else None
        with mock.patch.dict(os.environ, variables), _captured() as out, _captured_errors(out if not target else None):
            self._run(words)
        if target is None:
            return out.getvalue()
        (self._work / target).write_text(out.getvalue(), encoding="utf-8")
        return ""

    def _run(self, words: list[str]) -> None:
        match words:
            case ["helmdeck", *rest]:
                from helmdeck_core.cli import main

                self._code = main(rest)
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

    def _masked(self, text: str) -> str:
        text = text.replace(str(self._work), HOME)
        for pattern, replacement in _TIMES:
            text = pattern.sub(replacement, text)
        return text

    # -- around ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """See nothing of the machine but the interpreter and its packages."""
        before, modules = Path.cwd(), set(sys.modules)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("HELMDECK_") and not name.endswith("_API_KEY")
        }
        path = [str(self._site), str(EXAMPLES), *sys.path]
        with (
            mock.patch.dict(os.environ, {**kept, "COLUMNS": "100"}, clear=True),
            mock.patch.object(sys, "path", path),
            mock.patch("importlib.metadata.entry_points", self._entry_points),
        ):
            os.chdir(self._work)
            try:
                yield
            finally:
                os.chdir(before)
                # A plugin of one page must not be taken for another page's plugin of the same name.
                for name in set(sys.modules) - modules:
                    if getattr(sys.modules[name], "__file__", None) and _is_below(sys.modules[name], self._site):
                        del sys.modules[name]

    def _entry_points(self, **wanted: Any) -> Any:
        found = importlib.metadata.distributions(path=[str(self._site)])
        return importlib.metadata.EntryPoints(point for each in found for point in each.entry_points).select(**wanted)


def render(text: str) -> str:
    """The page with every block as it comes out today."""
    with tempfile.TemporaryDirectory() as folder:
        console = Console(Path(folder).resolve())
        with console.open():
            return BLOCK.sub(console.block, text)


def _is_below(module: Any, folder: Path) -> bool:
    return Path(module.__file__).is_relative_to(folder)


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out


@contextlib.contextmanager
def _captured_errors(out: io.StringIO | None) -> Iterator[None]:
    """Errors go where the output goes, as on a terminal; to nowhere when the output goes into a file."""
    with contextlib.redirect_stderr(out or io.StringIO()):
        yield


def _commands(body: str) -> Iterator[str]:
    """The commands of a console block; a backslash at the end of a line continues one."""
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)
            yield command


def _wants_gaps(body: str) -> bool:
    """Whether the page keeps its commands apart with blank lines."""
    return body.count("\n$ ") > 0 and body.count("\n\n$ ") == body.count("\n$ ")


def _lines(text: str) -> str:
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return f"{text}\n" if text else ""


def _kept(text: str, shown: str) -> str:
    """The lines that a page shows, and ``...`` for what it leaves out."""
    if not shown:
        return text
    lines = text.splitlines()
    wanted: set[int] = set()
    for part in shown.split(","):
        first, dash, last = part.strip().partition("-")
        wanted |= set(range(int(first), (int(last) if last else len(lines)) + 1 if dash else int(first) + 1))
    kept: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in wanted:
            kept.append(line)
        elif not kept or kept[-1] != "...":
            kept.append("...")
    return "\n".join(kept) + "\n"
