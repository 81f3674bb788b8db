"""Which HTTP transport a provider uses: by the client that the application handed over, or by configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from helmdeck_core.config.types import Config, ProviderConfig
from helmdeck_core.domain.transports import Transport, TransportSettings, TransportSpec
from helmdeck_core.errors import InvalidRequest, Mistake
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.suggestions import did_you_mean, nearest_names

Transports = Mapping[str, Contribution[TransportSpec]]


class TransportChooser:
    """The transports of a deck.

    :param transports: all contributed ones, the default first.
    :param clients: HTTP clients of the application, by name of a provider.
    """

    def __init__(self, transports: Transports, config: Config, clients: Mapping[str, object]) -> None:
        self._transports = transports
        self._config = config
        self._clients = dict(clients)

    def name_of(self, provider: str) -> str | None:
        """The name of a provider's transport; ``None`` when no plugin contributes one."""
        if provider in self._clients:
            return _accepting(self._transports, self._clients[provider])
        own = self._config.providers.get(provider, ProviderConfig()).transport
        return own or self._config.http.transport or next(iter(self._transports), None)

    def open(self, provider: str, settings: TransportSettings) -> Transport:
        """Open the transport of a provider.

        :raises InvalidRequest: no plugin contributes a transport, or its library is not installed.
        """
        name = self.name_of(provider)
        if name is None:
            detail = "no plugin contributes a transport; see plugins.disable"
            raise InvalidRequest("there is no HTTP transport", sub_cause="misconfigured", detail=detail)
        client = self._clients.get(provider)
        return self._transports[name].value.open(attrs.evolve(settings, client=client))


def client_mistakes(
    transports: Transports, providers: Iterable[str], clients: Mapping[str, object]
) -> Iterator[Mistake]:
    """Find clients of unknown providers, and those that no transport can use."""
    names = sorted(providers)
    for name, client in clients.items():
        where = f"argument http_clients: {name}"
        if name not in names:
            yield Mistake(where, f"unknown provider{did_you_mean(name, names)}", repr(name), nearest_names(name, names))
        elif _accepting(transports, client) is None:
            kinds = [each for each, contribution in transports.items() if contribution.value.accepts is not None]
            allowed = f"an async client of {' or '.join(kinds)}" if kinds else "none: no transport takes a client"
            yield Mistake(where, "no transport can use a client of this type", type(client).__name__, allowed)


def _accepting(transports: Transports, client: object) -> str | None:
    accepting = (
        name
        for name, contribution in transports.items()
        if contribution.value.accepts and contribution.value.accepts(client)
    )
    return next(accepting, None)
