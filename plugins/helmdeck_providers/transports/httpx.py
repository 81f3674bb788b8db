"""The transport ``httpx``: HTTP/1.1 over ``httpx2``, and clients of ``httpx2`` or ``httpx`` that the application hands over."""

from __future__ import annotations

from helmdeck_core import Transport, TransportSettings, TransportSpec, hookimpl


def accepts(client: object) -> bool:
    """Whether an object is an async client of ``httpx2`` or ``httpx``."""
    modules = {kind.__module__.partition(".")[0] for kind in type(client).__mro__ if kind.__name__ == "AsyncClient"}
    return not modules.isdisjoint(("httpx2", "httpx"))


def open_httpx(settings: TransportSettings) -> Transport:
    """Open a pool of connections, or use the client that was handed over."""
    if settings.client is not None:
        from helmdeck_providers.transports.httpx_client import ClientTransport

        return ClientTransport(settings)
    from helmdeck_providers.transports.httpx_pool import HttpxTransport

    return HttpxTransport(settings)


@hookimpl
def helmdeck_transports() -> list[TransportSpec]:
    """Contribute the default transport."""
    summary = "HTTP/1.1 over httpx2; takes an httpx2.AsyncClient or httpx.AsyncClient"
    return [TransportSpec(name="httpx", open=open_httpx, summary=summary, accepts=accepts, order=0)]
