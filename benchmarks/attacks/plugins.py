"""Installed plugins that cannot be loaded, or that misbehave while they are."""

from __future__ import annotations

import json
import time
from pathlib import Path

import attrs

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from benchmarks.attacks.victim import cli, load_modules
from helmdeck_testing import write_distribution

SUITE = Suite("plugins")
CHAIN = "OWASP LLM03:2025; OWASP A06:2021"
HOOK = "from helmdeck_core import *\nfrom helmdeck_core import hookimpl\n"
LIMIT_S = 12.0
SETTINGS = "[plugins]\nload_timeout_s = 2.0\n"
WORDS = ("plan", "remember this and draft a blog post about it", "--json")


@attrs.frozen
class Row:
    """A plugin.

    :ivar source: of its module; ``None``: there is none.
    :ivar target: of its entry point.
    :ivar name: of its entry point.
    :ivar is_loaded: it is a valid plugin, so that nothing has to name it.
    """

    source: str | None
    target: str = "evil_plugin"
    name: str = "evil"
    is_loaded: bool = False


def contributing(hook: str, value: str) -> str:
    """A plugin with one contribution."""
    return f"{HOOK}@hookimpl\ndef {hook}():\n    {value}\n"


ROWS: dict[str, Row] = {
    "raises when it is imported": Row("1/0"),
    "has a syntax error": Row("def"),
    "has no module": Row(None, "no_such_module"),
    "has a malformed entry point": Row("", "evil plugin:::x"),
    "names an attribute that does not exist": Row("", "evil_plugin:missing"),
    "exits when it is imported": Row("import sys; sys.exit(0)"),
    "raises a BaseException": Row("class Odd(BaseException): pass\nraise Odd()"),
    "raises an exception that cannot be printed": Row("class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute()"),
    "recurses endlessly": Row("def f(): f()\nf()"),
    "hangs when it is imported": Row("import time; time.sleep(3600)"),
    "ends the process when it is imported": Row("import os; os._exit(0)"),
    "kills the process when it is imported": Row("import os; os.kill(os.getpid(), 9)"),
    "has the name of a built-in": Row("", name="budgets"),
    "has a hook that does not exist": Row(f"{HOOK}@hookimpl\ndef helmdeck_no_such_hook(): return []"),
    "has a hook without its mark": Row("def helmdeck_packs(): return []"),
    "has a hook with unknown arguments": Row(f"{HOOK}@hookimpl\ndef helmdeck_packs(nonsense): return []"),
    "raises in a hook": Row(contributing("helmdeck_packs", "raise KeyError('x')")),
    "exits in a hook": Row(contributing("helmdeck_packs", "raise SystemExit(0)")),
    "returns nothing from a hook": Row(contributing("helmdeck_packs", "return None")),
    "returns the wrong type from a hook": Row(contributing("helmdeck_budget_rows", "return [1]")),
    "prints when it is imported": Row("print('{\"steps\": []}')", is_loaded=True),
    "prints in a hook": Row(contributing("helmdeck_packs", "print('noise'); return []"), is_loaded=True),
    "forks when it is imported": Row("import os, time\nif os.fork() == 0: time.sleep(1)", is_loaded=True),
    "forks in a hook": Row(contributing("helmdeck_packs", "import os; os.fork(); return []"), is_loaded=True),
    "leaves a thread that never ends": Row("import threading, time\nthreading.Thread(target=lambda: time.sleep(3600)).start()", is_loaded=True),
    "hangs at exit": Row("import atexit, time\natexit.register(lambda: time.sleep(3600))", is_loaded=True),
    "raises at exit": Row("import atexit\natexit.register(lambda: 1/0)", is_loaded=True),
    "patches the standard library": Row("import json\njson.loads = None\njson.dumps = None", is_loaded=True),
    "patches Helmdeck": Row("import helmdeck_core.redaction as r\nr.redacted = None", is_loaded=True),
    "changes the working folder": Row("import os; os.chdir('/')", is_loaded=True),
    "closes standard output": Row("import sys; sys.stdout.close()", is_loaded=True),
    "sets a limit of recursion of 60": Row("import sys; sys.setrecursionlimit(60)", is_loaded=True),
}  # fmt: skip

BY_DESIGN = {
    "ends the process when it is imported", "kills the process when it is imported", "hangs at exit", "leaves a thread that never ends",
    "patches the standard library", "patches Helmdeck", "closes standard output", "sets a limit of recursion of 60",
}  # fmt: skip
"""Plugins run in the process of the application: what they do there cannot be prevented, as SECURITY.md states."""


def install(folder: Path, row: Row) -> list[Path]:
    """Install the plugin; return the folders of the module path that have it."""
    load_modules()
    (folder / "helmdeck.toml").write_text(SETTINGS, encoding="utf-8")
    modules = {} if row.source is None else {"evil_plugin": row.source}
    return [write_distribution(folder / "site", "evil-dist", {row.name: row.target}, modules)]


@SUITE.each({f"a plugin that {name}": row for name, row in ROWS.items()}, reference=CHAIN, deadline_s=LIMIT_S + 20)
def _plugin(stage: Stage, row: Row) -> Verdict:
    name = next(each for each, value in ROWS.items() if value is row)
    folder = stage.new_folder()
    start_s = time.monotonic()
    try:
        run = cli(folder, *WORDS, path=install(folder, row), timeout_s=LIMIT_S)
    except Exception as exc:
        text = f"no plan within {LIMIT_S:g} s ({type(exc).__name__})"
        return degraded(f"{text}; plugins are trusted code") if name in BY_DESIGN else broken(text)
    seconds, errors = time.monotonic() - start_s, run.stderr.decode("utf-8", "replace")
    try:
        steps = len(json.loads(run.stdout)["steps"])
    except (ValueError, KeyError, TypeError):
        steps = 0
    is_named = row.name in errors and "plugin" in errors
    text = f"exit code {run.returncode} in {seconds:.1f} s, {steps} steps planned, the plugin is {'' if is_named else 'not '}named"
    if steps < 2 or run.returncode or (not row.is_loaded and not is_named):
        return (
            degraded(f"{text}; plugins are trusted code")
            if name in BY_DESIGN
            else broken(f"{text}: {' '.join(errors.split())[:200]}")
        )
    return held(text)


@SUITE.case("a broken plugin is listed with its error", reference=CHAIN)
def _listed(stage: Stage) -> Verdict:
    folder = stage.new_folder()
    path = install(folder, ROWS["raises when it is imported"])
    found = {}
    for words in (("plugins", "list"), ("doctor", "--offline")):
        run = cli(folder, *words, path=path)
        found[" ".join(words)] = b"evil" in run.stdout and b"ZeroDivisionError" in run.stdout + run.stderr
    return held("listed by plugins and doctor, with its error") if all(found.values()) else broken(str(found))


PACKS: dict[str, str] = {
    "raises": "raise ZeroDivisionError('boom')",
    "exits": "import sys; sys.exit(0)",
    "prints": "print('noise'); return {}",
    "returns no mapping": "return 7",
    "returns 50 MB": "return {'text': 'x' * 50_000_000}",
    "recurses endlessly": "return await run(context, value)",
}


@SUITE.each({f"a pack that {name}": body for name, body in PACKS.items()}, reference=CHAIN)
def _pack(stage: Stage, body: str) -> Verdict:
    folder = stage.new_folder()
    source = f"""{HOOK}
from helmdeck_core import Pack
async def run(context, value):
    {body}
@hookimpl
def helmdeck_packs():
    return [Pack(name="evil.pack", version="1", description="d", run=run)]
"""
    run = cli(folder, "run", "evil.pack", "--json", path=install(folder, Row(source)), timeout_s=LIMIT_S)
    try:
        output = json.loads(run.stdout)
    except ValueError:
        return broken(f"exit code {run.returncode}; standard output is not JSON: {run.stdout[:80]!r}")
    is_success = body.endswith(("{}", "}"))
    text = f"exit code {run.returncode}, {len(run.stdout):,} bytes of JSON"
    if (run.returncode == 0) != is_success and "50_000_000" not in body:
        return broken(f"{text}: {str(output)[:100]}")
    if b"Traceback" in run.stderr:
        return degraded(f"{text}; a traceback on standard error")
    return held(text)


SINKS: dict[str, str] = {
    "raises": "raise ZeroDivisionError",
    "exits": "raise SystemExit",
    "blocks for a second at each event": "import time; time.sleep(1)",
}


@SUITE.each({f"an event sink that {name}": body for name, body in SINKS.items()}, reference=CHAIN)
def _sink(stage: Stage, body: str) -> Verdict:
    folder = stage.new_folder()
    source = f"""{HOOK}
from helmdeck_core import EventSink
def handle(event):
    {body}
@hookimpl
def helmdeck_event_sinks():
    return [EventSink(name="evil", handle=handle)]
"""
    start_s = time.monotonic()
    run = cli(folder, *WORDS, path=install(folder, Row(source)), timeout_s=LIMIT_S)
    seconds = time.monotonic() - start_s
    try:
        steps = len(json.loads(run.stdout)["steps"])
    except ValueError:
        return broken(f"exit code {run.returncode}: {run.stderr[-200:]!r}")
    text = f"exit code {run.returncode}, {steps} steps planned in {seconds:.1f} s"
    return held(text) if steps >= 2 and not run.returncode else broken(text)
