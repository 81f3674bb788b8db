"""Vectors from any server with ``/v1/embeddings``, over the settings of a configured provider.

A ranking is synchronous, so a request blocks its thread: the deck ranks in a worker thread. One connection serves all
batches of a ranking and is closed after it, since it belongs to the event loop of that thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import numpy as np

from helmdeck_core import CallFailed, ProviderSettings
from helmdeck_providers import ErrorRules, HttpConnection, checked_base_url, decode_body, encode_payload, key_headers
from helmdeck_selection.vectors.sources import EmbeddingFailed

if TYPE_CHECKING:
    from helmdeck_selection.vectors.sources import Vectors

T = TypeVar("T")

_PATH: Final = "/embeddings"
_MAX_DETAIL: Final = 300


class EndpointSource:
    """A model behind ``/v1/embeddings``.

    :param model: the model as ``provider/model``.
    :param settings: returns the settings of a provider by name.
    :param batch: texts per request, at least 1.
    :param timeout_s: limit of one request in seconds.
    :raises ValueError: there is no such provider, or it has no base URL.
    """

    def __init__(
        self, model: str, settings: Callable[[str], ProviderSettings], *, batch: int, timeout_s: float
    ) -> None:
        provider, _, self._model = model.partition("/")
        where = "selection.rankers.vectors.embeddings"
        if not provider or not self._model:
            raise ValueError(f"{where} takes provider/model, found {model!r}")
        try:
            self._settings = attrs.evolve(settings(provider), timeout_s=timeout_s)
        except KeyError:
            raise ValueError(f"{where}: there is no provider {provider!r}; add [providers.{provider}]") from None
        self.name: str = f"{checked_base_url(self._settings)} {self._model}"
        self._batch = max(1, batch)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Implement ``EmbeddingSource.embed``."""
        try:
            return _completed(self._fetched(texts))
        except CallFailed as exc:
            raise EmbeddingFailed(" ".join(str(exc).split())[:_MAX_DETAIL]) from None

    async def _fetched(self, texts: Sequence[str]) -> Vectors:
        connection = HttpConnection(self._settings)
        try:
            rows: list[Sequence[float]] = []
            for start in range(0, len(texts), self._batch):
                rows += await self._batched(connection, texts[start : start + self._batch])
        finally:
            await connection.aclose()
        lengths = {len(row) for row in rows}
        if len(lengths) > 1 or 0 in lengths:
            raise EmbeddingFailed(f"vectors of different lengths: {sorted(lengths)}")
        return np.array(rows, dtype=np.float32)

    async def _batched(self, connection: HttpConnection, texts: Sequence[str]) -> list[Sequence[float]]:
        key = connection.key()
        secrets = connection.secrets(key)
        body = encode_payload({"model": self._model, "input": list(texts), "encoding_format": "float"}, {})
        response = await connection.post(_PATH, body, key_headers(key), secrets)
        answer = decode_body(response.status, response.headers, response.body, ErrorRules(), secrets)
        return _vectors(answer, len(texts))


def _vectors(answer: object, count: int) -> list[Sequence[float]]:
    """The vectors of an answer in the order of the texts.

    :raises EmbeddingFailed: one is missing or is not a list of numbers.
    """
    found = dict(_numbered(answer))
    if sorted(found) != list(range(count)):
        raise EmbeddingFailed(f"{len(found)} vectors for {count} texts")
    return [found[place] for place in range(count)]


def _numbered(answer: object) -> Iterator[tuple[int, Sequence[float]]]:
    data: object = answer.get("data") if isinstance(answer, Mapping) else None
    items: list[Any] = data if isinstance(data, list) else []
    for place, item in enumerate(items):
        vector = item.get("embedding") if isinstance(item, Mapping) else None
        if not isinstance(vector, list) or not all(isinstance(each, (int, float)) for each in vector):
            raise EmbeddingFailed("an embedding is not a list of numbers")
        index = item.get("index")
        yield (index if isinstance(index, int) else place), vector


def _completed(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where this one runs an event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as exc:
            errors.append(exc)

    thread = threading.Thread(target=run, name="helmdeck-embeddings")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
