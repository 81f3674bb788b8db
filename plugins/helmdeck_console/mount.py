"""Adds the console to the gateway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import GatewayApp, hookimpl
from helmdeck_core.log import logger

if TYPE_CHECKING:
    from helmdeck_console.application import Console

PATH = "/console"


def open_console(gateway: Any) -> Console | None:
    """Return the console of a gateway; ``None`` where ``[gateway] console`` is off, or Jinja2 is not installed."""
    from helmdeck_gateway import Gateway

    assert isinstance(gateway, Gateway)
    if not gateway.settings.console:
        return None
    try:
        import jinja2
    except ImportError:
        logger().info("the console is off, because jinja2 is not installed; pip install 'helmdeck[serve]'")
        return None
    del jinja2
    from helmdeck_console.application import Console
    from helmdeck_console.sources import sources_of_gateway

    return Console(*sources_of_gateway(gateway))


@hookimpl
def helmdeck_gateway_apps() -> Sequence[GatewayApp]:
    """The console."""
    return (GatewayApp(name="console", path=PATH, open=open_console, summary="requests, models and keys in a browser"),)
