"""Arranges the Markdown pages of the repository as the source of the site.

The pages are written for readers of the repository: links name files, ``docs/README.md`` is the index, and comments say how code
blocks are executed. Here each page gets its place on the site, links are rewritten, the comments are removed, and every section of the
index that has a table of pages becomes a page of its own, whose table is also its part of the navigation.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]

_FENCED = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^<!-- .*? -->\n+", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^(?P<level>#{2,3}) (?P<title>.+)$", re.MULTILINE)
_TABLE = re.compile(r"^\|-", re.MULTILINE)
_ROW = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<target>[^)#\s]+)\) \| (?P<topic>.*) \|$", re.MULTILINE)

SHELVES = {"contrib": "Separate plugins", "project": "Project"}
"""Folders of the site whose pages are listed by their first sentences, and the titles of the lists."""

START = ("tutorial", "explanation", "glossary")
"""The pages that the navigation shows first."""


@dataclass(frozen=True)
class Page:
    """One page of the site."""

    name: str
    """Path on the site, without a suffix."""
    text: str
    """Markdown with links between pages of the site."""
    children: tuple[str, ...] = ()
    """Pages below this one in the navigation."""
    topics: tuple[tuple[str, str, str], ...] = ()
    """Title, page and topic of each row of its table."""

    @property
    def title(self) -> str:
        """The first heading."""
        return self.text.partition("\n")[0].lstrip("# ")


def names(root: Path = ROOT) -> Mapping[str, str]:
    """Return the place on the site of every Markdown file that is a page, by its path in the repository."""
    found: dict[str, str] = {}
    for path in sorted((root / "docs").rglob("*.md")):
        name = path.relative_to(root / "docs").with_suffix("").as_posix()
        found[f"docs/{name}.md"] = name.replace("README", "index")
    for path in sorted(root.glob("*.md")):
        found[path.name] = f"project/{path.stem.lower().replace('_', '-')}"
    for path in sorted(root.glob("contrib_*/*/README.md")):
        found[path.relative_to(root).as_posix()] = f"contrib/{path.parent.name}"
    found["benchmarks/README.md"] = "benchmarks/running"
    for title, _, rows in _sections((root / "docs" / "README.md").read_text(encoding="utf-8")):
        if rows is not None:
            found[f"docs/README.md#{_slug(title)}"] = _slug(title)
    return {**found, "hookspecs.md": "reference/hooks", "README.md": "index"}


def pages(root: Path = ROOT) -> list[Page]:
    """Return every page; the first one is the front page."""
    places = names(root)
    found: list[Page] = []
    index: list[Page] = []
    for source, name in places.items():
        if source == "README.md" or "#" in source:
            continue
        text = _plain((root / source).read_text(encoding="utf-8"))
        if name == "index":
            index = _split(text, lambda target, place: _moved(target, "docs", place, places, root), places)
        else:
            parent = PurePosixPath(source).parent.as_posix()
            found.append(Page(name, _linked(text, lambda t, p=parent, n=name: _moved(t, p, n, places, root))))
    index += [_shelf(folder, title, found) for folder, title in SHELVES.items()]
    front = index[0]
    index[0] = Page(front.name, front.text, (*front.children, *SHELVES))
    return _placed([*index, *found])


def write(folder: Path, root: Path = ROOT) -> list[Page]:
    """Write the source of the site, with the navigation and the files that pages show or link, and return its pages."""
    found = pages(root)
    for page in found:
        path = folder / f"{page.name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text + _toctree(page), encoding="utf-8")
        for match in _LINK.finditer(_FENCED.sub("", page.text)):
            target = (path.parent / match["target"].partition("#")[0]).resolve()
            if target.suffix != ".md" and not target.exists() and "://" not in match["target"]:
                original = _file(target.relative_to(folder.resolve()), root)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(original, target)
    return found


# -- text ------------------------------------------------------------------------------------------------------


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to the text between code blocks."""
    parts: list[str] = []
    end = 0
    for match in _FENCED.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


def _plain(text: str) -> str:
    return _outside_code(text, lambda part: _COMMENT.sub("", part))


def _linked(text: str, moved: Callable[[str], str]) -> str:
    def link(match: re.Match[str]) -> str:
        target = moved(match["target"])
        return f"{match['text']}({target})" if target else match["text"].strip("[]")

    return _outside_code(text, lambda part: _LINK.sub(link, part))


def _slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


# -- links -----------------------------------------------------------------------------------------------------


def _moved(target: str, parent: str, name: str, places: Mapping[str, str], root: Path) -> str:
    """Return a link of a file as a link of its page, or nothing if the target is a folder, which the site has not."""
    path, _, anchor = target.partition("#")
    if not path or "://" in target or target.startswith("mailto:"):
        return target
    source = os.path.normpath(f"{parent}/{path}")
    if source == "docs/README.md" and anchor:
        return (
            _relative(f"{anchor}.md", name) if anchor in places.values() else _relative("index.md", name) + f"#{anchor}"
        )
    if source in places:
        return _relative(places[source] + ".md", name) + (f"#{anchor}" if anchor else "")
    if (root / source).is_file():
        return _relative(source.removeprefix("docs/"), name)
    if not (root / source).exists():
        raise SystemExit(f"{name}: no such file: {target}")
    readme = f"{source}/README.md"
    return _relative(places[readme] + ".md", name) if readme in places else ""


def _file(path: Path, root: Path) -> Path:
    inside = root / "docs" / path
    return inside if inside.exists() else root / path


def _relative(target: str, name: str) -> str:
    return os.path.relpath(target, PurePosixPath(name).parent.as_posix())


# -- the index and the navigation ------------------------------------------------------------------------------


def _sections(text: str) -> Iterator[tuple[str, str, list[re.Match[str]] | None]]:
    """Yield title, text and the rows of pages of each section of the index; no list for a section without a table."""
    headings = [*_HEADING.finditer(text)]
    ends = [*(match.start() for match in headings[1:]), len(text)]
    for match, end in zip(headings, ends, strict=True):
        body = text[match.end() : end]
        rows = [row for row in _ROW.finditer(body) if row["target"].endswith(".md")]
        yield match["title"], body, rows if _TABLE.search(body) else None


def _split(text: str, moved: Callable[[str, str], str], places: Mapping[str, str]) -> list[Page]:
    """Return the front page, and a page for each section of the index that has a table of pages."""
    first = _HEADING.search(text)
    front = text[: first.start()] if first else text
    found: list[Page] = []
    for title, body, matches in _sections(text):
        name = _slug(title)
        if matches is None:
            front += f"## {title}{body}"
            continue
        rows = tuple((row["title"], places[os.path.normpath(f"docs/{row['target']}")], row["topic"]) for row in matches)
        written = _linked(f"# {title}{body}", lambda target, place=name: moved(target, place))
        found.append(Page(name, written.rstrip() + "\n", tuple(row[1] for row in rows), rows))
    start = tuple(name for name in START if name in places.values())
    written = _linked(front, lambda target: moved(target, "index"))
    return [Page("index", written.rstrip() + "\n", (*start, *(page.name for page in found))), *found]


def _shelf(folder: str, title: str, found: list[Page]) -> Page:
    """Return the page that lists the pages of a folder."""
    listed = [page for page in found if PurePosixPath(page.name).parent.as_posix() == folder]
    rows = tuple((page.title, page.name, _first_sentence(page.text)) for page in listed)
    table = "".join(f"| [{name}]({place}.md) | {topic} |\n" for name, place, topic in rows)
    return Page(folder, f"# {title}\n\n| page | contents |\n|---|---|\n{table}", tuple(row[1] for row in rows), rows)


def _first_sentence(text: str) -> str:
    paragraphs = [each for each in text.split("\n\n")[1:] if each[:1].isalpha() or each[:1] == "["]
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraphs[0].split()) if paragraphs else "")
    return re.split(r"(?<=[.:])\s", plain, maxsplit=1)[0].rstrip(":")


def _placed(found: list[Page]) -> list[Page]:
    """Return the pages, each with one place in the navigation; pages without a row follow the page that links to them."""
    taken = {child for page in found for child in page.children} | {"index"}
    placed: list[Page] = []
    for page in found:
        links = [_target(page, match["target"]) for match in _LINK.finditer(_FENCED.sub("", page.text))]
        known = {each.name for each in found}
        new = [name for name in dict.fromkeys(links) if name in known and name not in taken and _may_follow(page, name)]
        taken |= {*new}
        placed.append(Page(page.name, page.text, (*page.children, *new), page.topics))
    lost = {page.name for page in found} - taken
    if lost:
        raise SystemExit(f"no page of the index leads to: {', '.join(sorted(lost))}")
    return placed


def _target(page: Page, target: str) -> str:
    path = target.partition("#")[0].removesuffix(".md")
    return os.path.normpath(PurePosixPath(page.name).parent / path)


def _may_follow(page: Page, name: str) -> bool:
    """Whether a page may be listed below another: both are in one folder, or the page is an index."""
    return PurePosixPath(page.name).parent == PurePosixPath(name).parent or bool(page.children)


def _toctree(page: Page) -> str:
    if not page.children:
        return ""
    lines = ["", "```{toctree}", ":hidden:", ":titlesonly:", "", *(f"/{name}" for name in page.children), "```", ""]
    return "\n".join(lines)


def descriptions(found: list[Page]) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Yield title and rows of every section of the index."""
    for page in found:
        if page.topics:
            yield page.title, [*page.topics]
