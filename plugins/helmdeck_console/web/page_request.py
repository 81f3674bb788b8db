"""One request of a page: its reader, its query and form, and the response."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import attrs
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from helmdeck_console.sources import Sources
from helmdeck_console.web.access import Access, Refused, Visitor
from helmdeck_console.web.pages import environment
from helmdeck_core.log import logger
from helmdeck_storage import StorageError
from helmdeck_telemetry import OperatorAction, RequestLog

MAX_FORM_BYTES: Final = 2_000_000
MAX_FIELDS: Final = 100
THEMES: Final = ("system", "light", "dark")
THEME_COOKIE: Final = "helmdeck_theme"

T = TypeVar("T")
Handler = Callable[["PageRequest"], Awaitable[Response]]


@attrs.frozen(kw_only=True)
class NavItem:
    """An entry of the navigation.

    :ivar path: below the path of the console.
    """

    path: str
    title: str


@attrs.define(kw_only=True)
class PageRequest:
    """One request of a page.

    :ivar form: the fields of a form that was sent.
    :ivar nav: the screens.
    """

    request: Request
    sources: Sources
    access: Access
    nav: Sequence[NavItem]
    visitor: Visitor
    form: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def root(self) -> str:
        """The path of the console."""
        return str(self.request.scope.get("root_path", "")).rstrip("/")

    @property
    def team(self) -> str:
        """The only team whose data is visible; empty for all."""
        return self.visitor.team

    def query(self, name: str, default: str = "") -> str:
        """Return a parameter of the URL."""
        return self.request.query_params.get(name, default)[:500]

    def link(self, **changes: object) -> str:
        """Return the query of this page with changes; ``None`` removes a parameter."""
        query = {
            **self.request.query_params,
            **{name: str(value) for name, value in changes.items() if value is not None},
        }
        for name, value in changes.items():
            if value is None:
                query.pop(name, None)
        return f"?{urlencode({name: value for name, value in query.items() if value})}"

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do work that reads a database or a file, in a thread."""
        return await asyncio.to_thread(work, *arguments)

    def use_log(self, work: Callable[[RequestLog], T], default: T) -> tuple[T, str]:
        """Use the request log where a page does without it; for use in a thread.

        :returns: the result, or the default without a log, and the reason if it cannot be used.
        """
        try:
            log = self.sources.log
            return (work(log) if log is not None else default), ""
        except StorageError as exc:
            return default, str(exc)

    async def record_action(self, action: str, subject: str = "", detail: str = "") -> None:
        """Write what an operator did to the audit log, and to the log of the server."""
        logger().bind(actor=self.visitor.name, subject=subject, detail=detail).info("console: {}", action)
        entry = OperatorAction(
            time_us=int(time.time() * 1e6), actor=self.visitor.name, action=action, subject=subject, detail=detail,
            team=self.team,
        )  # fmt: skip
        if (log := self.sources.log) is not None:
            await self.read(log.add_action, entry)

    async def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        return await asyncio.to_thread(self.shown, template, status, **values)

    def shown(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page; for use in a thread."""
        theme = self.request.cookies.get(THEME_COOKIE, "system")
        text = (
            environment()
            .get_template(template)
            .render(
                root=self.root,
                here=path_of(self.request),
                own_url=own_url(self.request) if self.request.method == "GET" else "",
                nav=self.nav,
                visitor=self.visitor,
                theme=theme if theme in THEMES else "system",
                sources=self.sources,
                link=self.link,
                **values,
            )
        )
        return HTMLResponse(text, status)

    def redirect(self, path: str) -> Response:
        """Return a redirect to a page of the console, after a form."""
        return redirect_to(self.request, path)


def path_of(request: Request) -> str:
    """Return the path of a page below the path of the console."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return str(request.scope["path"]).removeprefix(root) or "/"


def own_url(request: Request) -> str:
    """Return the URL of a page below the path of the console."""
    return f"{quote(path_of(request))}?{request.url.query}".rstrip("?")


def redirect_to(request: Request, url: str) -> Response:
    """Return a redirect to a page of the console; to the screen *Now* for what is not the path of one.

    :param url: below the path of the console, such as a form has sent it back.
    """
    root = str(request.scope.get("root_path", "")).rstrip("/")
    is_path = url.startswith("/") and not url.startswith(("//", "/\\"))
    return RedirectResponse(f"{root}{url if is_path else '/'}", 303)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form.

    :raises Refused: it is too large, or no form.
    """
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise Refused("This URL accepts forms of the console only.", 415)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise Refused(f"The form is larger than {MAX_FORM_BYTES:,} bytes.", 413)
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise Refused(f"The form has more than {MAX_FIELDS} fields.", 413) from None
