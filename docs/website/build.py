"""Builds the documentation site into ``site/``: ``python docs/website/build.py``, or ``nox -s site``.

Nothing is downloaded, and the site needs no server and no network: fonts are those of the reader's system, and the search runs in the
browser. A warning of Sphinx, a broken link or a resource of another host ends the build with exit code 1.

``--tags`` builds every released version as well, from its git tag, into ``site/VERSION``; each page links the other versions.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import check  # noqa: E402 - beside this file
import stage  # noqa: E402

ROOT = stage.ROOT

MARK = ".nojekyll"
"""A file of every site; with it, GitHub Pages also serves folders that begin with an underscore."""

ACCESSIBLE = {
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    '<th class="head"><p></p></th>': '<td class="head"></td>',
}
"""What the theme leaves to be found by assistive technology: names of two landmarks, and no header without text."""
EXTRA = "pip install -e '.[docs]'"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="folder to write; it is replaced")
    parser.add_argument("--tags", action="store_true", help="also build every version that has a git tag vX.Y.Z")
    parser.add_argument("--versions", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    tags = _tags() if arguments.tags else []
    others = arguments.versions or " ".join(f"{tag[1:]}={tag[1:]}" for tag in tags)
    problems = build(arguments.out.resolve(), others)
    for tag in tags:
        back = ["latest=..", *(f"{other[1:]}=../{other[1:]}" for other in tags if other != tag)]
        _build_tag(tag, arguments.out.resolve() / tag[1:], " ".join(back))
    print(f"{arguments.out}: {sum(1 for _ in arguments.out.rglob('*.html'))} pages")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def build(out: Path, versions: str = "", root: Path = ROOT) -> list[str]:
    """Build the site of one checkout, and return what is wrong with it."""
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise SystemExit(
            f"{out} has files that are no site of an earlier build; remove them, or name another folder with --out"
        )
    missing = [name for name in ("sphinx", "furo", "myst_parser", "sphinx_copybutton") if find_spec(name) is None]
    if missing:
        raise SystemExit(f"the site needs {', '.join(missing)}: {EXTRA}")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / MARK).touch()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        pages = stage.write(source, root)
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
        command += ["-c", str(HERE), "-d", f"{folder}/doctrees", str(source), str(out)]
        environment = {"HELMDECK_SITE_VERSION": _version(root), "HELMDECK_SITE_VERSIONS": versions}
        failed = subprocess.run(command, env={**os.environ, **environment}, check=False).returncode  # noqa: S603
        # The Markdown versions show and link these files where the pages of the repository do.
        shutil.copytree(source, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.md"))
    for path in out.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for old, new in ACCESSIBLE.items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    for page in pages:
        (out / f"{page.name}.md").write_text(page.text, encoding="utf-8")
    (out / "llms.txt").write_text(llms(pages), encoding="utf-8")
    for rest in (".buildinfo", "objects.inv"):
        (out / rest).unlink(missing_ok=True)
    shutil.rmtree(out / "_sources", ignore_errors=True)
    others = tuple(pair.partition("=")[2] for pair in versions.split())
    return [*(["Sphinx reported warnings"] if failed else []), *check.problems(out, others)]


def llms(pages: Sequence[stage.Page]) -> str:
    """Return the index for readers that are programs, in the form of llmstxt.org."""
    front = pages[0].text
    summary = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", front.split("\n\n")[1].replace("\n", " "))
    lines = [
        f"# {pages[0].title}",
        "",
        f"> {summary}",
        "",
        "Every page is also Markdown: replace `.html` by `.md`.",
        "",
    ]
    lines += ["## Start", ""]
    lines += [f"- [{page.title}]({page.name}.md)" for name in stage.START for page in pages if page.name == name]
    for title, rows in stage.descriptions([*pages]):
        lines += ["", f"## {title}", ""]
        lines += [f"- [{name}]({page}.md): {_text(topic)}" for name, page, topic in rows]
    return "\n".join(lines) + "\n"


def _text(topic: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", topic)


def _version(root: Path) -> str:
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


# -- released versions -----------------------------------------------------------------------------------------


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True).stdout  # noqa: S603, S607


def _tags() -> list[str]:
    """Return the tags of released versions that can be built, newest first."""
    found = _git("tag", "--list", "v[0-9]*", "--sort=-version:refname").decode().split()
    return [tag for tag in found if _git("ls-tree", tag, "docs/website/build.py")]


def _build_tag(tag: str, out: Path, versions: str) -> None:
    """Build a version with its own pages and its own copy of this program."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "tree.tar"
        archive.write_bytes(_git("archive", tag))
        with tarfile.open(archive) as tree:
            tree.extractall(f"{folder}/tree", filter="data")
        command = [sys.executable, f"{folder}/tree/docs/website/build.py", "--out", str(out), "--versions", versions]
        subprocess.run(command, check=True)  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
