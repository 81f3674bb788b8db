"""Everything that a release does except for publishing, twice: the second build must be the same byte for byte."""

from __future__ import annotations

import functools
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from release import checks, environments, public_api
from release.commands import ROOT, ReleaseError, report, run
from release.distributions import (
    PYTHONS,
    build,
    differences,
    distributions,
    sha256,
    table,
    tree_sums,
    wheels_from_sources,
    write_sums,
)
from release.sbom import write_sbom

SITE = "site"


def dry_run(dist: Path, second: Path) -> None:
    """Build, check, install and use everything, and print a table of the files.

    :param second: another clone of the same commit, in another folder.
    :raises ReleaseError: something does not hold; all steps have run by then, and each is named.
    """
    failures: list[str] = []

    def step(name: str, work: Callable[[], object]) -> None:
        report([f"== {name}"])
        try:
            work()
        except ReleaseError as exc:
            report([f"FAILED: {exc}"])
            failures.append(name)

    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        again = scratch / "dist"
        step("build", lambda: build(dist))
        if failures:
            raise ReleaseError("the distributions cannot be built")
        step("check the files", lambda: checks.check_files(dist))
        step("build the wheels of the source distributions", lambda: wheels_from_sources(dist))
        step("bill of materials", lambda: write_sbom(dist, scratch / "first"))
        step("documentation", lambda: _site(ROOT))
        step("build again, in another folder", lambda: _again(second, again, scratch))
        step("compare both builds", lambda: _compare(dist, again, second))
        for version in PYTHONS:
            step(f"use with Python {version}", functools.partial(_use, dist, scratch, version))
        step("use with the lowest versions", lambda: report(environments.lowest(dist, scratch)))
        step("types", lambda: _types(dist, scratch))
        step("public names", public_api.compare)
        step("workflows", checks.check_workflows)
        step("changelog", lambda: report([f"{len(_notes().splitlines())} lines"]))
        write_sums(dist)
    report(["", *_table(dist)])
    if failures:
        raise ReleaseError(f"failed: {', '.join(failures)}")
    report(["", "all steps passed"])


def _again(second: Path, target: Path, scratch: Path) -> None:
    build(target, second)
    write_sbom(target, scratch / "second")
    _site(second)


def _compare(dist: Path, again: Path, second: Path) -> None:
    found = differences(tree_sums(dist), tree_sums(again))
    found += [f"{SITE}/{name}" for name in differences(tree_sums(ROOT / SITE), tree_sums(second / SITE))]
    if found:
        raise ReleaseError("\n".join([f"{len(found)} files differ between the two builds:", *found[:20]]))
    report([f"the same: {len(tree_sums(dist))} files in dist, {len(tree_sums(ROOT / SITE))} in {SITE}"])


def _site(root: Path) -> None:
    """Build the documentation of a checkout with the session of its noxfile."""
    if not re.search(r"^def site\(", (root / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE):
        report(["note: noxfile.py has no session 'site', so no documentation is built"])
        return
    shutil.rmtree(root / SITE, ignore_errors=True)
    run(sys.executable, "-m", "nox", "-s", "site", cwd=root)


def _use(dist: Path, scratch: Path, version: str) -> None:
    report(environments.install_and_use(dist, scratch, version))


def _types(dist: Path, scratch: Path) -> None:
    environment = environments.create(scratch / "types", sys.executable)
    environment.install(*environments.requirements(dist, full=True), "pytest")
    checks.check_types(environment, public_api.packages())


def _notes() -> str:
    return checks.release_notes(distributions()[0].version, is_dated=False)


def _table(dist: Path) -> list[str]:
    rows = [(path.name, path.stat().st_size, sha256(path)) for path in sorted(dist.iterdir())]
    site = tree_sums(ROOT / SITE)
    if site:
        sums = dist.parent / "site.sums"
        sums.write_text("".join(f"{value}  {name}\n" for name, value in site.items()), encoding="utf-8")
        size = sum(path.stat().st_size for path in (ROOT / SITE).rglob("*") if path.is_file())
        rows.append((f"{SITE} ({len(site)} files)", size, sha256(sums)))
        sums.unlink()
    return table(rows)
