"""Clean environments outside of the checkout, into which the built files are installed, and nothing else of Helmdeck."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs

from release.commands import ReleaseError, module, run
from release.distributions import Distribution, distributions, extras

SMOKE = Path(__file__).with_name("smoke.py")


@attrs.frozen
class Environment:
    """A virtual environment in a folder of its own."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.folder / ".venv" / "bin" / "python"

    @property
    def pyright(self) -> Path:
        """The type checker of the environment that builds the release."""
        return Path(sys.executable).with_name("pyright")

    def install(self, *requirements: str, options: Sequence[str] = ()) -> None:
        """Install requirements, and check that they fit together."""
        uv("pip", "install", "--quiet", "--python", self.python, *options, *requirements)
        uv("pip", "check", "--quiet", "--python", self.python)

    def smoke(self, wheels: Sequence[Distribution], *, full: bool) -> str:
        """Use what is installed as a user would, from an empty folder; return one line about it.

        :param full: whether all extras and contribs are installed.
        """
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        expected = {
            "versions": {each.name: each.version for each in wheels},
            "plugins": [plugin for each in wheels for plugin in each.plugins],
            "full": full,
        }
        # -I: neither the folder nor PYTHONPATH is searched for modules.
        return run(self.python, "-I", SMOKE, json.dumps(expected), cwd=work, env=home(work)).strip()


def uv(*arguments: str | Path) -> str:
    """Run uv of this environment."""
    return module("uv", *arguments)


def home(folder: Path) -> dict[str, str]:
    """Return variables with which programs write into a folder instead of the user's, and find no configuration or key."""
    return {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "HELMDECK_DATA_DIR": str(folder / "data")}


def interpreter(version: str) -> str | None:
    """Return a Python of a version, such as ``3.12``, or ``None``. uv may download one; pyenv's are found, too."""
    found = sorted((Path(sys.base_prefix).parent).glob(f"{version}.*/bin/python"))
    for candidate in (f"python{version}", *map(str, reversed(found))):
        path = shutil.which(candidate)
        if path is not None:
            try:
                run(path, "-c", f"import sys; assert sys.version_info[:2] == ({version.replace('.', ', ')})")
            except ReleaseError:
                continue
            return path
    try:
        uv("python", "install", "--quiet", version)
        return uv("python", "find", version).strip()
    except ReleaseError:
        return None


def create(folder: Path, python: str) -> Environment:
    """Create an empty environment with a Python."""
    uv("venv", "--quiet", "--clear", "--python", python, folder / ".venv")
    return Environment(folder)


def requirements(folder: Path, *, full: bool) -> list[str]:
    """Return the requirements for the wheels in a folder: Helmdeck alone, or with all extras and contribs."""
    helmdeck, *contribs = distributions()
    wheel = (folder / helmdeck.files[0]).resolve()
    if not full:
        return [str(wheel)]
    return [
        f"helmdeck[{','.join(extras())}] @ {wheel.as_uri()}",
        *(str((folder / each.files[0]).resolve()) for each in contribs),
    ]


def install_and_use(folder: Path, scratch: Path, version: str) -> list[str]:
    """Install the wheels with a version of Python, once Helmdeck alone and once everything, and use them.

    :returns: lines about what was done; one that says so if there is no such Python.
    """
    python = interpreter(version)
    if python is None:
        return [f"Python {version}: not available on this machine, not tested"]
    lines = []
    for full in (False, True):
        environment = create(scratch / f"{version}-{'full' if full else 'plain'}", python)
        environment.install(*requirements(folder, full=full))
        wheels = distributions() if full else distributions()[:1]
        lines.append(f"Python {version}: {environment.smoke(wheels, full=full)}")
    return lines


def _dependencies() -> list[str]:
    """Return the dependencies of all distributions and extras: uv takes the lowest versions of what it is given directly."""
    helmdeck, *contribs = distributions()
    optional = helmdeck.project["optional-dependencies"]
    listed = [*helmdeck.project["dependencies"], *(line for extra in extras() for line in optional[extra])]
    listed += [line for each in contribs for line in each.project["dependencies"]]
    return sorted({line for line in listed if not line.startswith("helmdeck>")})


def lowest(folder: Path, scratch: Path, version: str = "3.11") -> list[str]:
    """Install everything with the lowest versions of the direct dependencies that the metadata allow, and use it."""
    python = interpreter(version)
    if python is None:
        return [f"Python {version}: not available on this machine, lowest versions not tested"]
    environment = create(scratch / f"{version}-lowest", python)
    environment.install(*requirements(folder, full=True), *_dependencies(), options=("--resolution", "lowest-direct"))
    line = environment.smoke(distributions(), full=True)
    installed = uv("pip", "list", "--python", environment.python, "--format", "freeze")
    names = {re.split(r"[\[<>=!~ ]", each)[0].lower() for each in _dependencies()}
    chosen = [each for each in installed.split() if each.partition("==")[0].lower() in names]
    return [f"Python {version}, lowest versions: {line}", f"    {', '.join(chosen)}"]
