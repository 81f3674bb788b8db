"""The settings of a gateway, from ``[gateway]`` in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import EMPTY, ConfigError, LoadedConfig, Mistake, SecretRef, above_zero, read_options
from helmdeck_gateway.calls.aliases import Alias, read_aliases
from helmdeck_gateway.sign_in.settings import SignInSettings, read_sign_in
from helmdeck_gateway.stores import SCHEMES

AT_MOST: Mapping[str, int] = {"port": 65_535, "workers": 256}
"""Upper limits of settings."""
REFERENCES = ("env", "file")
"""Kinds of references to secrets."""


@attrs.frozen(kw_only=True)
class VectorModel:
    """A row of ``[gateway.embeddings]``.

    :ivar model: the model that a deployment serves, where its name is another one.
    :ivar dimensions: the length of its vectors; 0 is that of the first ones.
    """

    model: str = ""
    dimensions: int = 0


@attrs.frozen(kw_only=True)
class GatewaySettings:
    """The keys of ``[gateway]``.

    :ivar host: the host to listen on.
    :ivar port: the port to listen on; 0 for any free one.
    :ivar hosts: names that the headers ``Host`` and ``Origin`` of a request without a key may have, besides those of the loopback
        interface; ``*`` for all.
    :ivar workers: processes that serve requests.
    :ivar models: by the name that clients send: a model id, a list of them (the first one and its fallbacks), or a table of
        weights; ``*`` for every name without a provider.
    :ivar embeddings: by model id: which model serves its vectors, and their length; a fallback of the same model may replace it.
    :ivar key: reference to the key that clients send: ``env:NAME`` or ``file:PATH``; left out: none is required.
    :ivar metrics_key: reference to the key that ``/metrics`` needs; left out: none, and names of keys are not shown.
    :ivar store: where keys, limits, spend and conversations are kept: ``sqlite:PATH``, ``postgresql://…``, ``redis://…``, or a reference to such a
        URL: ``env:NAME`` or ``file:PATH``; left out: ``gateway.db`` in the data directory, and memory for the conversations of a
        single process.
    :ivar requires_keys: requests need a key even before the first one is created.
    :ivar sign_in: issuers of tokens (OpenID Connect) by name, which clients may send in place of a key.
    :ivar deadline_s: seconds until a request ends; 0 is the deadline of ``[recovery]``.
    :ivar ping_s: seconds without output after which a stream gets a keep-alive, and its headers, if they are not sent yet.
    :ivar max_request_bytes: size of a request body.
    :ivar max_tools: tools of a request; more are refused. Those that the model's budget has no room for are left out.
    :ivar max_response_bytes: size of a response body, streamed or not; a larger one ends with an error.
    :ivar max_requests: requests under way in one process, with those that wait; more are answered with 429.
    :ivar max_active: requests that one process works on at a time. Others wait, and the places go round the teams, or keys without a
        team, so that one with many requests does not delay the others.
    :ivar queue_s: seconds that a request waits for a place; then it is answered with 429.
    :ivar shares: by the name of a team, or of a key without a team: its share of the places; 1 for those that are left out.
    :ivar max_body_bytes: bytes of the bodies of all requests under way in one process; more are answered with 429.
    :ivar max_lag_s: seconds by which the process may be late, for a second; then new requests are answered with 429.
    :ivar header_s: seconds until the head of a request must be complete, and that a client may take to read a part of a
        response.
    :ivar body_s: seconds until the body of a request must be complete.
    :ivar keep_alive_s: seconds that a connection without a request stays open.
    :ivar narrows_tools: tools beyond the catalog limit of the model's budget are left out of a request.
    :ivar max_stored_responses: responses that ``previous_response_id`` can name; in a store, also turns and choices of tools.
    :ivar stored_days: days that stored responses and the data of conversations are kept.
    :ivar max_file_bytes: size of an uploaded file, such as the requests of a batch.
    :ivar max_stored_file_bytes: size of all files of a caller, which are kept for ``stored_days``, and likewise of the requests of
        its batches that have not ended.
    :ivar max_files: files of a caller, empty ones included.
    :ivar max_batches: batches of a caller, those that failed or ended included.
    :ivar max_conversations: conversations of a caller.
    :ivar max_conversation_bytes: size of the items of a conversation.
    :ivar max_stored_conversation_bytes: size of the items of all conversations of a caller; requests beyond it are answered with
        413. The items of an answer are stored in any case.
    :ivar max_background: responses of a caller that are queued or in progress in the background.
    :ivar batch_concurrency: requests of batches that one process has under way for one caller; and as many responses in the background.
    :ivar batch_lease_s: seconds after which the requests of a batch that a lost process had under way are taken over; likewise
        responses in the background.
    :ivar drain_s: seconds that requests under way get when the server stops.
    :ivar console: serve the console at ``/console``, and record requests for it.
    """

    host: str = "127.0.0.1"
    port: int = 8930
    hosts: tuple[str, ...] = ()
    workers: int = attrs.field(default=1, validator=above_zero)
    models: Mapping[str, Any] = EMPTY
    embeddings: Mapping[str, VectorModel] = EMPTY
    key: SecretRef | None = None
    metrics_key: SecretRef | None = None
    store: str | None = attrs.field(default=None, repr=False)  # it may have a password
    requires_keys: bool = False
    sign_in: Mapping[str, Any] = EMPTY
    deadline_s: float = 0.0
    ping_s: float = attrs.field(default=10.0, validator=above_zero)
    max_request_bytes: int = attrs.field(default=32_000_000, validator=above_zero)
    max_tools: int = attrs.field(default=2_048, validator=above_zero)
    max_response_bytes: int = attrs.field(default=32_000_000, validator=above_zero)
    max_requests: int = attrs.field(default=1_024, validator=above_zero)
    max_active: int = attrs.field(default=512, validator=above_zero)
    queue_s: float = attrs.field(default=30.0, validator=above_zero)
    shares: Mapping[str, float] = EMPTY
    max_body_bytes: int = attrs.field(default=1_000_000_000, validator=above_zero)
    max_lag_s: float = attrs.field(default=3.0, validator=above_zero)
    header_s: float = attrs.field(default=20.0, validator=above_zero)
    body_s: float = attrs.field(default=60.0, validator=above_zero)
    keep_alive_s: float = attrs.field(default=75.0, validator=above_zero)
    narrows_tools: bool = True
    max_stored_responses: int = attrs.field(default=2_000, validator=above_zero)
    stored_days: float = attrs.field(default=30.0, validator=above_zero)
    max_file_bytes: int = attrs.field(default=100_000_000, validator=above_zero)
    max_stored_file_bytes: int = attrs.field(default=1_000_000_000, validator=above_zero)
    max_files: int = attrs.field(default=100_000, validator=above_zero)
    max_batches: int = attrs.field(default=10_000, validator=above_zero)
    max_conversations: int = attrs.field(default=10_000, validator=above_zero)
    max_conversation_bytes: int = attrs.field(default=4_000_000, validator=above_zero)
    max_stored_conversation_bytes: int = attrs.field(default=1_000_000_000, validator=above_zero)
    max_background: int = attrs.field(default=1_000, validator=above_zero)
    batch_concurrency: int = attrs.field(default=8, validator=above_zero)
    batch_lease_s: float = attrs.field(default=30.0, validator=above_zero)
    drain_s: float = 30.0
    console: bool = True

    @classmethod
    def load(cls, loaded: LoadedConfig) -> GatewaySettings:
        """Read the settings of a configuration; mistakes name the file or variable that they are in.

        :raises ConfigError: with every mistake.
        """
        try:
            return cls.read(loaded.config.gateway)
        except ConfigError as exc:
            from helmdeck_cli import with_source  # for mistakes alone, since it imports the checks of a configuration

            raise ConfigError(tuple(with_source(loaded.origins, each) for each in exc.mistakes)) from None

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> GatewaySettings:
        """Read the settings.

        :raises ConfigError: with every mistake.
        """
        mistakes: list[Mistake] = []
        models, sign_in = options.get("models", {}), options.get("sign_in", {})
        mistakes += read_sign_in(sign_in)[1]
        settings = cls()
        try:
            own = {**options, "models": {}} if isinstance(models, Mapping) else {**options}
            settings = read_options({**own, "sign_in": {}} if "sign_in" in own else own, cls, "gateway")
        except ConfigError as exc:
            mistakes += exc.mistakes
        if isinstance(models, Mapping):
            mistakes += read_aliases(models)[1]
        for name, most in AT_MOST.items():
            if isinstance(value := options.get(name), int) and value > most:
                mistakes.append(Mistake(f"gateway.{name}", "too high", repr(value), f"at most {most:,}"))
        shares = options.get("shares")
        for name, share in shares.items() if isinstance(shares, Mapping) else ():
            if share == 0:  # other values that are not possible are found above
                mistakes.append(Mistake(f"gateway.shares.{name}", "not a share", repr(share), "a number above 0"))
        store = options.get("store")
        scheme = store.partition(":")[0] if isinstance(store, str) else "sqlite"
        if scheme not in (*SCHEMES, *REFERENCES):
            allowed = "sqlite:PATH, postgresql://..., redis://..., env:NAME, file:PATH"
            mistakes.append(Mistake("gateway.store", "not a store", repr(scheme[:20]), allowed))
        if mistakes:
            raise ConfigError(tuple(mistakes))
        return attrs.evolve(settings, models=models, sign_in=sign_in)

    @property
    def aliases(self) -> Mapping[str, Alias]:
        """The aliases by the name that clients send."""
        return read_aliases(self.models)[0]

    @property
    def issuers(self) -> Mapping[str, SignInSettings]:
        """The issuers of tokens by name."""
        return read_sign_in(self.sign_in)[0]

    @property
    def is_closed(self) -> bool:
        """Whether a request needs a key or a token, even before the first key is created."""
        return self.requires_keys or self.key is not None or bool(self.sign_in)

    def store_url(self) -> str | None:
        """Return the URL of the store; ``None`` if none is configured.

        :raises ConfigError: its reference cannot be read.
        """
        kind, _, target = (self.store or "").partition(":")
        if kind not in REFERENCES:
            return self.store
        url = SecretRef(kind, target).read()
        if url is None:
            raise ConfigError((Mistake("gateway.store", "cannot be read", f"{kind}:{target}"),))
        return url
