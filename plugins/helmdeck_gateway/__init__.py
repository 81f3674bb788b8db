"""The gateway: serves a deck with the APIs of OpenAI and Anthropic, so that existing clients only change a URL.

Requires the extra ``serve``; ``helmdeck serve`` starts it. ``Gateway(deck).app`` is an ASGI application for other servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmdeck_gateway.principals import Authoriser as Authoriser
from helmdeck_gateway.principals import Principal as Principal
from helmdeck_gateway.problems import Problem as Problem
from helmdeck_gateway.settings import GatewaySettings as GatewaySettings

if TYPE_CHECKING:
    from helmdeck_gateway.app import Gateway as Gateway


def __getattr__(name: str) -> Any:
    if name != "Gateway":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from helmdeck_gateway.app import Gateway

    return Gateway
