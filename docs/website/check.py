"""Checks the files of the site: links and anchors resolve, and nothing is loaded from another host."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CODE = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")
_LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
"""The attributes whose resource a browser loads with the page."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if anchor := values.get("id"):
            self.anchors.add(anchor)
        if tag == "a" and (link := values.get("href")):
            self.links.append(link)
        if tag in _LOADED and (link := values.get(_LOADED[tag])) and values.get("rel") not in ("canonical",):
            self.loaded.append(link)


def problems(site: Path, elsewhere: tuple[str, ...] = ()) -> list[str]:
    """Return a line for each broken link and each resource of another host.

    :param elsewhere: folders of other versions, relative to the site, which are built separately.
    """
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    broken = [
        f"{path.relative_to(site)}: no such file: {target}"
        for path in sorted(site.rglob("*.md"))
        for target in _markdown_links(path)
        if not (path.parent / target).is_file()
    ]
    return broken + [
        f"{path.relative_to(site)}: {problem}"
        for path, page in pages.items()
        for problem in _problems(site, path, page, pages, [(site / each).resolve() for each in elsewhere])
    ]


def _read(path: Path) -> _Reader:
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def _markdown_links(path: Path) -> list[str]:
    text = _CODE.sub("", path.read_text(encoding="utf-8"))
    targets = [unquote(match[1].partition("#")[0]) for match in _MARKDOWN_LINK.finditer(text)]
    return [each for each in targets if each and not urlsplit(each).scheme]


def _problems(site: Path, path: Path, page: _Reader, pages: dict[Path, _Reader], others: list[Path]) -> Iterator[str]:
    for link in dict.fromkeys([*page.loaded, *page.links]):
        parts = urlsplit(link)
        if parts.scheme == "data" or (parts.scheme and link not in page.loaded):
            continue
        if parts.scheme or parts.netloc:
            yield f"loads {link} from another host"
            continue
        target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
        if any(target.is_relative_to(other) for other in others if other != site and not site.is_relative_to(other)):
            continue
        if not target.is_file() and not (others and not target.is_relative_to(site)):
            yield f"no such file: {link}"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"no such anchor: {link}"
