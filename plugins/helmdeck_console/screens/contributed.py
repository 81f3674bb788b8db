"""Screens of plugins; their content is data, so that they look like the others and cannot inject anything."""

from __future__ import annotations

from starlette.responses import Response

from helmdeck_console.web.page_request import Handler, PageRequest
from helmdeck_core import ConsoleScreen, ScreenContext, ScreenPage


def shower(screen: ConsoleScreen) -> Handler:
    """Return the handler of a screen."""

    async def show(page: PageRequest) -> Response:
        context = ScreenContext(deck=page.sources.deck, team=page.team, query=dict(page.request.query_params))
        content: object = await page.read(screen.read, context)
        if not isinstance(content, ScreenPage):
            raise TypeError(f"the screen {screen.name!r} returned {type(content).__name__}, not a ScreenPage")
        return await page.show("contributed.html", screen=screen, content=content)

    return show
