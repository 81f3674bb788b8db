"""The distributions of a checkout, and how they are built: wheel and source distribution of each, byte for byte repeatable."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from release.commands import ROOT, ReleaseError, module, run

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions of Python that a release is tested with."""

SUMS = "SHA256SUMS"
"""The file with the checksums of all files of a release."""


@attrs.frozen(slots=False)
class Distribution:
    """A folder that is released under its own name: Helmdeck, or one contrib.

    :ivar folder: relative to the checkout.
    """

    root: Path
    folder: Path

    @cached_property
    def project(self) -> Mapping[str, Any]:
        """The table ``[project]`` of its ``pyproject.toml``."""
        table: Mapping[str, Any] = tomllib.loads((self.path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return table

    @property
    def path(self) -> Path:
        """The folder."""
        return self.root / self.folder

    @property
    def name(self) -> str:
        """Such as ``helmdeck-pack-av``."""
        return str(self.project["name"])

    @property
    def version(self) -> str:
        """The version."""
        return str(self.project["version"])

    @property
    def stem(self) -> str:
        """How the names of its files begin, such as ``helmdeck_pack_av-0.2.0``."""
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def files(self) -> tuple[str, str]:
        """The names of its wheel and source distribution."""
        return f"{self.stem}-py3-none-any.whl", f"{self.stem}.tar.gz"

    @property
    def plugins(self) -> tuple[str, ...]:
        """The names of the plugins that its entry points declare."""
        return tuple(self.project.get("entry-points", {}).get("helmdeck", {}))


def distributions(root: Path = ROOT) -> list[Distribution]:
    """Return Helmdeck, and then every contrib of the checkout by its folder."""
    contribs = sorted(path.parent.relative_to(root) for path in root.glob("contrib_*/*/pyproject.toml"))
    return [Distribution(root, folder) for folder in (Path(), *contribs)]


def extras(root: Path = ROOT) -> list[str]:
    """Return the extras of Helmdeck that users install: all but those for its development."""
    helmdeck = distributions(root)[0]
    return sorted(set(helmdeck.project["optional-dependencies"]) - {"dev", "docs", "release"})


def commit_time(root: Path = ROOT) -> str:
    """Return ``SOURCE_DATE_EPOCH``: the time of the last commit, in seconds since 1970."""
    return run("git", "log", "-1", "--format=%ct", cwd=root).strip()


def build(target: Path, root: Path = ROOT) -> list[Path]:
    """Build all distributions of a checkout into a folder, which must have no distributions of other versions."""
    target.mkdir(parents=True, exist_ok=True)
    found = distributions(root)
    expected = {name for each in found for name in each.files}
    if stale := sorted(path.name for path in built_files(target) if path.name not in expected):
        raise ReleaseError(f"{target} has files of another build: {', '.join(stale)}; remove them first")
    for each in found:
        module("hatchling", "build", "-d", target, cwd=each.path, env={"SOURCE_DATE_EPOCH": commit_time(root)})
    return [target / name for each in found for name in each.files]


def built_files(folder: Path) -> list[Path]:
    """Return the wheels and source distributions in a folder."""
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def wheels_from_sources(folder: Path, root: Path = ROOT) -> None:
    """Build the wheel of each source distribution again.

    :raises ReleaseError: a wheel differs from the one that was built from the checkout.
    """
    for each in distributions(root):
        wheel, source = each.files
        with tempfile.TemporaryDirectory() as scratch:
            with tarfile.open(folder / source) as archive:
                archive.extractall(scratch, filter="data")
            unpacked = Path(scratch) / each.stem
            module(
                "hatchling",
                "build",
                "-t",
                "wheel",
                "-d",
                scratch,
                cwd=unpacked,
                env={"SOURCE_DATE_EPOCH": commit_time(root)},
            )
            if sha256(Path(scratch) / wheel) != sha256(folder / wheel):
                raise ReleaseError(f"the wheel that is built from {source} differs from {wheel}")


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path) -> Path:
    """Write the checksums of the files of a folder, as ``sha256sum --check`` reads them."""
    sums = folder / SUMS
    lines = [f"{sha256(path)}  {path.name}\n" for path in sorted(folder.iterdir()) if path.is_file() and path != sums]
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def tree_sums(folder: Path) -> dict[str, str]:
    """Return the checksum of every file below a folder, by its path."""
    return {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the paths that are in one of two trees only, or differ."""
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def table(rows: Iterable[tuple[str, int, str]]) -> list[str]:
    """Return lines with names, sizes in bytes and checksums."""
    listed = list(rows)
    width = max(len(name) for name, _, _ in listed)
    return [
        f"{'name':{width}}  {'bytes':>10}  sha256",
        *(f"{name:{width}}  {size:>10,}  {sums}" for name, size, sums in listed),
    ]
