"""The transport ``aiohttp``: HTTP/1.1 over ``aiohttp``, which parses in C; for many calls at once."""

from __future__ import annotations

from helmdeck_core import InvalidRequest, Transport, TransportSettings, TransportSpec, hookimpl


def open_aiohttp(settings: TransportSettings) -> Transport:
    """Open a session.

    :raises InvalidRequest: the library is not installed.
    """
    try:
        from helmdeck_providers.transports.aiohttp_session import AiohttpTransport
    except ModuleNotFoundError as exc:
        missing = exc.name
    else:
        return AiohttpTransport(settings)
    detail = f"the package {missing!r} is missing: pip install 'helmdeck[aiohttp]'"
    raise InvalidRequest("the transport 'aiohttp' is not installed", sub_cause="misconfigured", detail=detail)


@hookimpl
def helmdeck_transports() -> list[TransportSpec]:
    """Contribute the transport for many calls at once."""
    summary = "HTTP/1.1 over aiohttp, for many calls at once; needs helmdeck[aiohttp]"
    return [TransportSpec(name="aiohttp", open=open_aiohttp, summary=summary, order=10)]
