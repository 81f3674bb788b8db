"""Fetches a source: a page or a document in text, at a public address only, with limits of size, time and redirects."""

from __future__ import annotations

import os
from typing import Final

from helmdeck_runs import WebPageError, web_page

PRIVATE_VARIABLE: Final = "CONTENT_GROUND_ALLOW_PRIVATE"
"""Set to 1, addresses of private networks are allowed, for tests and for sources in an intranet."""

MAX_BYTES: Final = 2_500_000
TIMEOUT_S: Final = 20.0
EVERYWHERE: Final = ("0.0.0.0/0", "::/0")


class FetchFailed(Exception):
    """A source cannot be fetched; the message says why."""


async def fetch(url: str) -> str:
    """Return the text of a page.

    :raises FetchFailed: the IP address is not public, the response is an error, too large or not text, or it takes too long.
    """
    allow = EVERYWHERE if os.environ.get(PRIVATE_VARIABLE) == "1" else ()
    try:
        page = await web_page(url, allow=allow, max_bytes=MAX_BYTES, timeout_s=TIMEOUT_S, bullet="")
    except WebPageError as exc:
        raise FetchFailed(str(exc)) from None
    if page.status != 200:
        raise FetchFailed(f"status {page.status}")
    if page.text is None:
        raise FetchFailed(f"content type {page.media_type[:60]} is not text")
    return page.text
