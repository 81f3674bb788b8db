"""The pack ``http.fetch``: one HTTP request to a public host."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import attrs
import msgspec

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode, hookimpl
from helmdeck_runs.pack_builder.functions import pack

NAME: Final = "http.fetch"


@attrs.frozen(kw_only=True)
class FetchOptions:
    """Options of ``[packs.options.http]``.

    :ivar allow: hosts, IP addresses and networks that may be fetched although they are not public, such as ``10.1.0.0/16``.
    :ivar max_bytes: of a body, compressed and not.
    :ivar timeout_s: seconds of the request with its redirects.
    """

    allow: tuple[str, ...] = ()
    max_bytes: int = 2_500_000
    timeout_s: float = 30.0


class Fetched(msgspec.Struct, omit_defaults=True):
    """A response: ``text`` of a page or a document in text, else an artifact."""

    status: int
    url: str
    headers: dict[str, str]
    media_type: str
    bytes: int
    text: str | None = None
    title: str | None = None
    artifacts: list[dict[str, Any]] | None = None


@pack(
    NAME,
    open_world=True,
    description="Send one HTTP request and return status, headers and body. Bodies over 2.5 MB are refused.",
    metadata={
        "accepts": ["url"],
        "produces": ["text"],
        "intent_keywords": ["call the API", "GET request", "POST to"],
    },
    options=FetchOptions,
)
async def fetch(
    context: PackContext,
    url: str,
    method: Literal["GET", "HEAD", "POST"] = "GET",
    headers: dict[str, str] | None = None,
    body: str | None = None,
    raw: bool = False,
) -> Fetched:
    """Send a request.

    :param url: of http or https, without credentials.
    :param headers: of the request; not sent to another host after a redirect if they contain credentials.
    :param body: of a POST request.
    :param raw: return a page as HTML and not as its text.
    """
    from helmdeck_runs.packs.web_page import WebPageError, WebTimeoutError, web_page

    options: FetchOptions = context.options
    try:
        page = await web_page(
            url,
            method=method,
            headers=headers,
            body=body,
            allow=options.allow,
            max_bytes=options.max_bytes,
            timeout_s=options.timeout_s,
            raw=raw,
            progress=context.progress,
        )
    except WebTimeoutError as exc:
        raise PackError(NAME, PackErrorCode.TIMEOUT, str(exc)) from None
    except WebPageError as exc:
        code = PackErrorCode.INVALID_INPUT if exc.is_invalid else PackErrorCode.HANDLER_FAILED
        hint = "; [packs.options.http] allow lists the exceptions" if exc.is_private else ""
        raise PackError(NAME, code, f"{exc}{hint}") from None
    result = Fetched(page.status, page.url, dict(page.headers), page.media_type, len(page.data), text=page.text)
    result.title = page.title or None
    if page.text is None:
        result.artifacts = [context.artifacts.write("download.bin", page.data, page.media_type).to_dict()]
    return result


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (fetch,)
