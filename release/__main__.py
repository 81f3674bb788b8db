"""The command line: ``python -m release build dist``, ``check``, ``smoke``, ``lowest``, ``types``, ``api``, ``sbom``, ``dry-run`` and others."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from release import checks, dry_run, environments, public_api
from release.commands import ROOT, ReleaseError, report
from release.distributions import PYTHONS, build, distributions, wheels_from_sources, write_sums
from release.sbom import write_sbom


def main(argv: Sequence[str] | None = None) -> int:
    """Run one step; the exit code is 1 if something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m release", description="Build and check what a release publishes.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder of the built files; default: dist")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, (text, _) in STEPS.items():
        step = steps.add_parser(name, help=text, description=text)
        if name == "smoke":
            step.add_argument(
                "--python", action="append", choices=PYTHONS, help="default: every version; may be repeated"
            )
        elif name == "api":
            step.add_argument(
                "--write", action="store_true", help="write the baseline: these are the names of a release"
            )
        elif name == "dry-run":
            step.add_argument("--second", type=Path, required=True, help="another clone of the same commit")
    arguments = parser.parse_args(argv)
    try:
        STEPS[arguments.step][1](arguments)
    except ReleaseError as exc:
        print(f"release: {arguments.step}: {exc}", file=sys.stderr)
        return 1
    return 0


def _build(arguments: argparse.Namespace) -> None:
    report([path.name for path in build(arguments.dist)])


def _check(arguments: argparse.Namespace) -> None:
    checks.check_files(arguments.dist)
    wheels_from_sources(arguments.dist)
    report([f"{len(distributions())} wheels and source distributions pass; the wheels of the sources are the same"])


def _smoke(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for version in arguments.python or PYTHONS:
            report(environments.install_and_use(arguments.dist, Path(scratch), version))


def _lowest(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        report(environments.lowest(arguments.dist, Path(scratch)))


def _types(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        environment = environments.create(Path(scratch), sys.executable)
        environment.install(*environments.requirements(arguments.dist, full=True), "pytest")
        checks.check_types(environment, public_api.packages())


def _api(arguments: argparse.Namespace) -> None:
    if arguments.write:
        report([str(path.relative_to(ROOT)) for path in public_api.write_baseline()])
    else:
        public_api.compare()


def _sbom(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        report([write_sbom(arguments.dist, Path(scratch)).name])


def _notes(_: argparse.Namespace) -> None:
    report([checks.release_notes(distributions()[0].version).rstrip()])


def _workflows(_: argparse.Namespace) -> None:
    checks.check_workflows()


STEPS: dict[str, tuple[str, Callable[[argparse.Namespace], None]]] = {
    "build": ("build the wheel and the source distribution of Helmdeck and of each contrib", _build),
    "check": ("check metadata and contents of the built files, and build the wheels of the sources again", _check),
    "smoke": ("install the wheels into clean environments, and use them", _smoke),
    "lowest": ("the same with the lowest versions of the dependencies", _lowest),
    "types": ("measure how complete the types are for those who install the wheels", _types),
    "api": ("name changes of the public names that break users of the last release", _api),
    "sbom": ("write the software bill of materials", _sbom),
    "sums": ("write the checksums of the built files", lambda arguments: report([write_sums(arguments.dist).name])),
    "notes": ("print the section of the version in the changelog", _notes),
    "workflows": ("check the GitHub workflows", _workflows),
    "dry-run": (
        "do all of it, build everything twice, and compare",
        lambda arguments: dry_run.dry_run(arguments.dist, arguments.second),
    ),
}
"""The steps, with what each does."""


if __name__ == "__main__":
    sys.exit(main())
