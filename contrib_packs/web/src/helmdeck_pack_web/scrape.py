"""The pack ``web.scrape``: reads the pages of given URLs, one after the other, and returns their main text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from helmdeck_core import PackContext, PackError, PackErrorCode, echoed, url_secrets
from helmdeck_pack_web.files import TABLE, FileError, WebOptions, is_file_url, read_url
from helmdeck_runs import WebPageError, pack, web_page

NAME: Final = "web.scrape"
MAX_URLS: Final = 20


class Page(msgspec.Struct):
    """A page that was read."""

    url: str
    title: str
    text: str


class Scraped(msgspec.Struct, omit_defaults=True):
    """The pages in the order of their URLs. ``text`` has all of them, each with its source if there are several."""

    text: str
    title: str
    pages: list[Page]
    findings: list[str] = []


@pack(
    NAME,
    open_world=True,
    description="Read web pages and return their main text. Pages that cannot be read are findings, as long as one is read.",
    metadata={
        "accepts": ["url"],
        "produces": ["text", "title"],
        "intent_keywords": ["read this page", "scrape", "get the article text"],
        "limitations": ["No pages behind a login", "JavaScript is not executed"],
    },
    options=WebOptions,
)
async def scrape(
    context: PackContext,
    urls: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_URLS)],
    render: bool = False,
) -> Scraped:
    """Read pages.

    :param urls: of http or https, or files of the configured folder.
    :param render: whether to execute JavaScript, which this pack does not; a finding reports it.
    """
    pages, findings, is_invalid = list[Page](), list[str](), True
    if render:
        findings.append("render: JavaScript is not executed")
    for place, url in enumerate(dict.fromkeys(urls)):
        shown = echoed(url, tuple(url_secrets(url)))[:200]
        context.progress(f"reading {shown}", place / len(urls))
        try:
            pages.append(await _read(context, url))
        except FileError as exc:
            findings.append(f"{shown}: {exc}")
        except WebPageError as exc:
            is_invalid = is_invalid and exc.is_invalid
            hint = f"; [packs.options.{TABLE}] allow lists the exceptions" if exc.is_private else ""
            findings.append(f"{shown}: {exc}{hint}")
    if not pages:
        code = PackErrorCode.INVALID_INPUT if is_invalid else PackErrorCode.HANDLER_FAILED
        raise PackError(NAME, code, f"no page can be read: {'; '.join(findings)}")
    return Scraped(_joined(pages), pages[0].title, pages, findings)


async def _read(context: PackContext, url: str) -> Page:
    options: WebOptions = context.options
    if is_file_url(url):
        if not options.folder:
            raise FileError(f"files are read only below [packs.options.{TABLE}] folder, which is not set")
        found = await asyncio.to_thread(read_url, url, options.root(context.folder))
        return Page(found.url, found.title, found.text)
    page = await web_page(
        url,
        allow=options.allow,
        max_bytes=options.max_bytes,
        timeout_s=options.timeout_s,
        bullet="",
        progress=context.progress,
    )
    if page.status != 200:
        raise WebPageError(f"HTTP status {page.status}")
    if page.text is None:
        raise WebPageError(f"its type {page.media_type!r} has no text")
    if not page.text.strip():
        raise WebPageError("it has no text without JavaScript")
    return Page(page.url, page.title, page.text)


def _joined(pages: Sequence[Page]) -> str:
    if len(pages) == 1:
        return pages[0].text
    return "\n\n".join(f"{page.text.strip()}\n\nSource: {page.url}" for page in pages)
