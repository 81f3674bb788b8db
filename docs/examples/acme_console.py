"""A screen of the console with the shifts of our operators, and a web application that the gateway serves beside it."""

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from helmdeck_core import ConsoleScreen, GatewayApp, ScreenPage, ScreenTable, hookimpl

SHIFTS = (("Monday", "Ada", 4), ("Tuesday", "Grace", 6))


def read_shifts(context):
    """Return the content for one reader; ``context.team`` is the only team that the reader may see, if it is not empty."""
    days = tuple(row for row in SHIFTS if row[0] == context.query.get("day", row[0]))
    return ScreenPage(
        texts=(f"Models of this deck: {context.deck.runtime.config.model}.",),
        tables=(ScreenTable(headings=("Day", "Operator", "Incidents"), rows=days, caption="Shifts"),),
    )


def open_status(gateway):
    """Return an application that shows how many requests the gateway is processing."""

    async def show(_):
        return PlainTextResponse(f"{gateway.counters.under_way} requests under way")

    return Starlette(routes=[Route("/", show)])


@hookimpl
def helmdeck_console_screens():
    """Add a screen to the navigation, at /console/shifts."""
    return [ConsoleScreen(name="shifts", title="Shifts", read=read_shifts)]


@hookimpl
def helmdeck_gateway_apps():
    """Serve an application at /status."""
    return [GatewayApp(name="status", path="/status", open=open_status)]
