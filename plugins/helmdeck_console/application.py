"""The console as an ASGI application: its routes, the headers of every response, and the pages around sign-in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from helmdeck_console.screens import chains, contributed, keys, models, now, plugins, requests, tries
from helmdeck_console.screens.calibrations import Calibrations
from helmdeck_console.sources import Sources
from helmdeck_console.web.access import COOKIE, LIFE_S, Access, Refused, Visitor
from helmdeck_console.web.page_request import (
    THEME_COOKIE,
    THEMES,
    Handler,
    NavItem,
    PageRequest,
    own_url,
    read_form,
    redirect_to,
)
from helmdeck_console.web.pages import FOLDER
from helmdeck_core import ConsoleScreen
from helmdeck_core.log import logger
from helmdeck_storage import StorageError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
STATIC: Final = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}
NAV: Final = (
    NavItem(path="/", title="Now"),
    NavItem(path="/requests", title="Requests"),
    NavItem(path="/models", title="Models"),
    NavItem(path="/keys", title="Keys"),
    NavItem(path="/try", title="Try"),
    NavItem(path="/plugins", title="Plugins and configuration"),
)
UNKNOWN_VISITOR: Final = Visitor(name="", role="")


class Console:
    """The console over its sources; an ASGI application.

    :param access: the check of visitors.
    """

    def __init__(self, sources: Sources, access: Access) -> None:
        self.sources = sources
        self.access = access
        self.calibrations: Calibrations = Calibrations()
        screens = sources.deck.runtime.contributions.values_of(ConsoleScreen)
        self.nav: tuple[NavItem, ...] = (*NAV, *(NavItem(path=f"/{each.name}", title=each.title) for each in screens))
        post = ["POST"]
        self._app = Starlette(
            routes=[
                Route("/", self._page(now.show)),
                Route("/requests", self._page(requests.show)),
                Route("/requests.csv", self._page(requests.show_csv)),
                Route("/requests.json", self._page(requests.show_json)),
                Route("/requests/{call_id}", self._page(requests.show_one)),
                Route("/models", self._page(models.show)),
                Route("/models/one", self._page(models.show_one(self.calibrations))),
                Route("/models/chain", self._page(chains.show)),
                Route("/models/calibrate", self._form(models.calibrate(self.calibrations)), methods=post),
                Route("/models/cancel", self._form(models.cancel(self.calibrations)), methods=post),
                Route("/keys", self._page(keys.show)),
                Route("/keys/create", self._form(keys.create), methods=post),
                Route("/keys/edit", self._form(keys.edit), methods=post),
                Route("/keys/rotate", self._form(keys.rotate), methods=post),
                Route("/keys/revoke", self._form(keys.revoke), methods=post),
                Route("/keys/restore", self._form(keys.restore), methods=post),
                Route("/keys/teams/create", self._form(keys.create_a_team), methods=post),
                Route("/keys/teams/edit", self._form(keys.edit_a_team), methods=post),
                Route("/keys/teams/revoke", self._form(keys.revoke_a_team), methods=post),
                Route("/try", self._page(tries.show)),
                Route("/try/prompt", self._page(tries.show_prompt)),
                Route("/try/new", self._form(tries.create, role="viewer"), methods=post),
                Route("/plugins", self._page(plugins.show)),
                Route("/plugins/reload", self._form(plugins.reload), methods=post),
                Route("/sign-in", self._sign_in, methods=["GET", "POST"]),
                Route("/sign-in/link", self._sign_in_by_link),
                Route("/sign-out", self._form(self._sign_out, role="viewer"), methods=post),
                Route("/theme", self._theme, methods=post),
                Route("/static/{name}", self._static),
                *(Route(f"/{each.name}", self._page(contributed.shower(each))) for each in screens),
            ],
            exception_handlers={404: self._missing, 405: self._missing},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; every response has the headers of ``HEADERS``."""

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, send_with_headers)

    # -- pages and forms -----------------------------------------------------------------------------------------

    def _request(self, request: Request, visitor: Visitor, form: dict[str, str] | None = None) -> PageRequest:
        return PageRequest(
            request=request, sources=self.sources, access=self.access, nav=self.nav, visitor=visitor, form=form or {}
        )

    def _page(self, handler: Handler) -> Any:
        async def page(request: Request) -> Response:
            return await self._answered(request, handler, role="viewer", is_form=False)

        return page

    def _form(self, handler: Handler, *, role: str = "admin") -> Any:
        async def form(request: Request) -> Response:
            return await self._answered(request, handler, role=role, is_form=True)

        return form

    async def _answered(self, request: Request, handler: Handler, *, role: str, is_form: bool) -> Response:
        visitor: Visitor | None = None
        try:
            visitor = await self.access.visitor(request)
            if visitor is None:
                return self._to_sign_in(request)
            fields = await read_form(request) if is_form else {}
            if is_form:
                self.access.check_form(visitor, request, fields.pop("token", ""))
            if role == "admin" and not visitor.is_admin:
                raise Refused(
                    "This changes something, and your key reads alone. Sign in with a key of the role admin.", 403
                )
            response = await handler(self._request(request, visitor, fields))
        except Refused as exc:
            response = await self._refused(request, exc, visitor)
        except StorageError as exc:
            response = await self._problem(request, f"The database cannot be used: {exc}", 503, visitor)
        except Exception as exc:
            logger().opt(exception=exc).error("a page of the console failed: {}", request.scope["path"][:200])
            response = await self._problem(
                request, "The page failed. The log of the server has the error.", 500, visitor
            )
        if visitor is not None and visitor.new_cookie:
            self._set_cookie(request, response, visitor.session)
        return response

    def _to_sign_in(self, request: Request) -> Response:
        if request.headers.get("x-live"):  # the script of the page shows what happened
            return Response("signed out", 401, media_type="text/plain")
        if request.method != "GET":
            return redirect_to(request, "/sign-in")
        if request.headers.get("sec-fetch-site") == "cross-site":
            # The browser keeps the cookie back behind a link of another site, but not for a page that loads itself again.
            return Response(headers={"refresh": "0"})
        return redirect_to(request, f"/sign-in?{urlencode({'next': own_url(request)})}")

    async def _refused(self, request: Request, exc: Refused, visitor: Visitor | None) -> Response:
        response = await self._problem(request, str(exc), exc.status, visitor)
        if exc.retry_after_s:
            response.headers["retry-after"] = str(exc.retry_after_s)
        return response

    async def _problem(self, request: Request, text: str, status: int, visitor: Visitor | None = None) -> Response:
        page = self._request(request, visitor or UNKNOWN_VISITOR)
        return await page.show("problem.html", status, text=text, status_code=status)

    async def _missing(self, request: Request, exc: Exception) -> Response:
        status = getattr(exc, "status_code", 404)
        text = "There is no such page."
        if status == 405:
            text = "This URL accepts forms only." if request.method == "GET" else "This URL accepts no forms."

        async def refuse(_: PageRequest) -> Response:
            raise Refused(text, status)

        return await self._answered(request, refuse, role="viewer", is_form=False)

    # -- sign-in -------------------------------------------------------------------------------------------------

    async def _sign_in(self, request: Request) -> Response:
        if request.method == "GET":
            page = self._request(request, UNKNOWN_VISITOR)
            return await page.show("sign_in.html", error="", next=request.query_params.get("next", "/"))
        fields: dict[str, str] = {}
        client = request.client.host if request.client is not None else ""
        try:
            # Without a session there is no token; a page of another site could only sign its own key in.
            if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                raise Refused("The form comes from another site.", 403)
            fields = await read_form(request)
            session = await self.access.sign_in(fields.get("key", ""), client)
        except Refused as exc:
            page = self._request(request, UNKNOWN_VISITOR, fields)
            response = await page.show("sign_in.html", exc.status, error=str(exc), next=fields.get("next", "/"))
            if exc.retry_after_s:
                response.headers["retry-after"] = str(exc.retry_after_s)
            return response
        except StorageError as exc:
            return await self._problem(request, f"The database cannot be used: {exc}", 503)
        return self._signed_in(request, session, fields.get("next", "/"))

    async def _sign_in_by_link(self, request: Request) -> Response:
        client = request.client.host if request.client is not None else ""
        try:
            session = await self.access.sign_in_by_link(request.query_params.get("token", ""), client)
        except Refused as exc:
            return await self._refused(request, exc, None)
        except StorageError as exc:
            return await self._problem(request, f"The database cannot be used: {exc}", 503)
        return self._signed_in(request, session)

    def _signed_in(self, request: Request, session: str, url: str = "/") -> Response:
        response = redirect_to(request, url)
        self._set_cookie(request, response, session)
        return response

    async def _sign_out(self, page: PageRequest) -> Response:
        await self.access.sign_out(page.visitor.session)
        response = page.redirect("/sign-in")
        response.delete_cookie(COOKIE, path=self._cookie_path(page.request))
        return response

    def _set_cookie(self, request: Request, response: Response, session: str) -> None:
        response.set_cookie(
            COOKIE, session, max_age=int(LIFE_S), path=self._cookie_path(request), secure=_is_secure(request),
            httponly=True, samesite="strict",
        )  # fmt: skip

    @staticmethod
    def _cookie_path(request: Request) -> str:
        return f"{request.scope.get('root_path', '').rstrip('/')}/"

    async def _theme(self, request: Request) -> Response:
        try:
            fields = await read_form(request)
        except Refused as exc:
            return await self._refused(request, exc, None)
        response = redirect_to(request, fields.get("next", "/"))
        theme = fields.get("theme", "")
        if theme in THEMES:
            response.set_cookie(
                THEME_COOKIE, theme, max_age=31_536_000, path=self._cookie_path(request), secure=_is_secure(request),
                httponly=True, samesite="strict",
            )  # fmt: skip
        return response

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return await self._problem(request, "There is no such file.", 404)
        data = _read(FOLDER / "static" / name)
        return Response(data, headers={"cache-control": "max-age=300"}, media_type=STATIC[name])


def _read(path: Path) -> bytes:
    return path.read_bytes()


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https" or request.headers.get("x-forwarded-proto", "").lower() == "https"
