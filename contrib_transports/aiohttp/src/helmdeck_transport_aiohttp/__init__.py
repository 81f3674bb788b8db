"""The transport ``aiohttp``: HTTP/1.1 over the library ``aiohttp``, which parses in C; for many calls at once."""

from __future__ import annotations

from helmdeck_core import Transport, TransportSettings, TransportSpec, hookimpl


def open_aiohttp(settings: TransportSettings) -> Transport:
    """Open a pool of connections; the library is imported here, since it takes a while."""
    from helmdeck_transport_aiohttp.connections import AiohttpTransport

    return AiohttpTransport(settings)


@hookimpl
def helmdeck_transports() -> list[TransportSpec]:
    """Contribute the transport for many calls at once."""
    return [
        TransportSpec(
            name="aiohttp", open=open_aiohttp, summary="HTTP/1.1 over aiohttp, for many calls at once", order=10
        )
    ]
