"""One command for each chore; ``nox -l`` lists them.

Every session uses the environment that nox is installed in (``pip install -e '.[dev]'``), so none of them needs a network.
``LINTERS`` is the one list of linters and type checkers: ``.ci/run`` and ``.pre-commit-config.yaml`` run these sessions.
"""

from __future__ import annotations

import sys

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ("lint", "types", "tests")

LINTERS = {
    "lint": ("ruff check .", "ruff format --check ."),
    "types": ("mypy", "pyright"),
}
"""The commands of each session; all of them pass before a change lands."""


def python(session: nox.Session, *command: str) -> None:
    """Run a module with the Python of this environment, whether or not the environment is activated."""
    session.run(sys.executable, "-m", *command)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    for command in LINTERS["lint"]:
        python(session, *command.split())


@nox.session
def types(session: nox.Session) -> None:
    """Check types with both type checkers."""
    for command in LINTERS["types"]:
        python(session, *command.split())


@nox.session
def fix(session: nox.Session) -> None:
    """Repair what ``lint`` reports, where ruff can."""
    python(session, "ruff", "check", "--fix", ".")
    python(session, "ruff", "format", ".")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the whole suite on all processors; arguments after ``--`` go to pytest."""
    python(session, "pytest", "-n", "auto", *session.posargs)


@nox.session
def room(session: nox.Session) -> None:
    """Run the tests of one package and the import rules: ``nox -s room -- helmdeck_mcp``."""
    if not session.posargs:
        session.error("name a package: nox -s room -- helmdeck_mcp")
    python(session, "pytest", *(f"tests/{package}" for package in session.posargs), "tests/meta/test_layers.py")


@nox.session
def hooks(session: nox.Session) -> None:
    """Write ``hookspecs.md`` from the hook specifications."""
    python(session, "helmdeck_core.cli", "hooks", "--write", "hookspecs.md")


@nox.session
def docs(session: nox.Session) -> None:
    """Write the reference, and the output of all examples in the documentation."""
    session.run(sys.executable, "docs/generate.py", "--write")


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation site into ``site``; it needs the extra ``docs``. Arguments after ``--`` go to the program."""
    session.run(sys.executable, "docs/website/build.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks of pytest; arguments after ``--`` go to pytest, such as ``--benchmark-save=before``."""
    # With the project's way to share tests among processors, pytest-benchmark would measure nothing.
    python(session, "pytest", "benchmarks", "--dist", "no", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build the wheel and the source distribution of Helmdeck and of each contrib into ``dist``."""
    python(session, "release", "build")


@nox.session
def api(session: nox.Session) -> None:
    """Name changes of the public names that break users of the last release; ``-- --write`` writes those of a new one."""
    python(session, "release", "api", *session.posargs)
