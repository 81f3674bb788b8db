"""``/v1/embeddings``: passed through to the provider of the model, or of a fallback whose vectors are of the same kind."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from helmdeck_core import InvalidRequest, Usage
from helmdeck_gateway.accounts.request_costs import embedding_tokens, embedding_usage
from helmdeck_gateway.calls.direct_calls import DirectCalls, DirectRequest, wrong_answer
from helmdeck_gateway.calls.service import MODEL_FIELDS
from helmdeck_gateway.calls.targets import Target, listed
from helmdeck_gateway.dialects.parsed import field, required
from helmdeck_gateway.endpoints.calls import Door
from helmdeck_gateway.endpoints.direct import Direct, DirectEndpoint
from helmdeck_gateway.problems import invalid
from helmdeck_gateway.settings import VectorModel
from helmdeck_providers import encode_payload

FAMILIES: Final = frozenset(("openai", "responses"))
"""The plugins whose providers have the endpoint."""

MAX_KNOWN: Final = 1_024
"""Kinds of vectors whose length is remembered."""


class EmbeddingsEndpoint(DirectEndpoint):
    """Sends requests for vectors."""

    def __init__(self, door: Door, calls: DirectCalls) -> None:
        super().__init__(door, calls, "embeddings")
        self._models: Mapping[str, VectorModel] = door.service.settings.embeddings
        self._lengths: dict[tuple[str, int | None], int] = {}

    async def answer(self, work: Direct) -> bytes:
        """Return the response of the first model of the chain that returns vectors."""
        body, principal = work.body.fields, work.principal
        name = required(body, "model", str)
        principal.check_model(name)
        if body.get("input") in (None, "", []):
            raise invalid("this field is required", "input")
        models = self.models_of(self.door.service.targets.find(name))
        left_out = [] if not principal.has_model_limit else [each for each in body if each in MODEL_FIELDS]
        if left_out:
            work.headers["x-helmdeck-dropped"] = listed(left_out)
        fields = {each: value for each, value in body.items() if each not in left_out}
        if self.door.service.guards:
            fields["input"] = await self._guarded(fields["input"], work, name, models[0])
        dimensions, tokens = field(body, "dimensions", int), embedding_tokens(body["input"])
        kind, count = self._kind(models[0]), _count(body["input"])
        encoding = field(body, "encoding_format", str) or "float"

        def read(model: str, data: Any) -> tuple[Any, Usage]:
            lengths = _vectors(model, data, count)
            encoded = _encoded(model, data, encoding)
            self._check(model, (kind, dimensions), lengths, learns=model == models[0])
            return encoded, embedding_usage(data, max(1, tokens))

        request = DirectRequest(
            kind="embeddings",
            models=models,
            path=lambda _: "/embeddings",
            payload=lambda model: encode_payload({**fields, "model": model.partition("/")[2]}, {}),
            read=read,
            tokens=tokens,
            deadline_s=work.deadline_s or 0.0,
        )
        answer = await self.call(work, request)
        return answer.result or answer.body

    async def _guarded(self, value: Any, work: Direct, name: str, model: str) -> Any:
        """Return the input as the guards leave it; tokens instead of texts are not checked."""
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            return value
        checked = await self.door.service.check_texts(texts, work.principal, name, model, self.name)
        return checked[0] if isinstance(value, str) else checked

    def models_of(self, target: Target) -> list[str]:
        """Return the models of a chain whose vectors can replace those of the first one.

        :raises InvalidRequest: the first one has none.
        """
        first = target.model
        if not first.partition("/")[2] or self.door.service.targets.family(first) not in FAMILIES:
            detail = "embeddings need a model of a provider with OpenAI's API, as provider/model"
            raise InvalidRequest(f"{first!r} has no embeddings", sub_cause="model", detail=detail, model=first)
        family = self.door.service.targets.family
        same = (each for each in target.models if self._kind(each) == self._kind(first) and family(each) in FAMILIES)
        return list(dict.fromkeys((first, *same)))

    def _kind(self, model: str) -> str:
        """What the vectors of a model can be compared with: the model, whichever provider serves it."""
        declared = self._models.get(model)
        return (declared.model if declared is not None and declared.model else model.rpartition("/")[2]).casefold()

    def _check(self, model: str, kind: tuple[str, int | None], lengths: Sequence[int], *, learns: bool) -> None:
        """Check that vectors are as long as they must be to be comparable with earlier ones.

        :param learns: the length of these is that of all later ones.
        :raises CallFailed: they are not.
        """
        declared = self._models.get(model)
        expected = kind[1] or (declared.dimensions if declared is not None else 0) or self._lengths.get(kind)
        expected = expected or (lengths[0] if lengths else 0)
        for length in lengths:
            if length != expected:
                raise wrong_answer(model, f"vectors of {length} dimensions, expected {expected}", "dimension_mismatch")
        if learns and lengths and len(self._lengths) < MAX_KNOWN:
            self._lengths.setdefault(kind, expected)


def _count(value: Any) -> int:
    """The number of vectors for an input: one for a text or its tokens, one for each of several."""
    return len(value) if isinstance(value, list) and not isinstance(value[0], int) else 1


def _vectors(model: str, data: Any, count: int) -> list[int]:
    """The lengths of the vectors in a response, in either encoding."""
    rows = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(rows, list) or len(rows) != count:
        found = f"{len(rows)} vectors" if isinstance(rows, list) else "no list of vectors"
        raise wrong_answer(model, f"{found}, expected {count}", "missing_vectors")
    lengths: list[int] = []
    for row in rows:
        vector = row.get("embedding") if isinstance(row, Mapping) else None
        if not isinstance(vector, str | list) or not vector:
            raise wrong_answer(model, "a row without a vector", "missing_vectors")
        # In base64, four bytes for each number.
        lengths.append(len(vector.rstrip("=")) * 3 // 16 if isinstance(vector, str) else len(vector))
    return lengths


def _encoded(model: str, data: Mapping[str, Any], encoding: str) -> bytes:
    """The response with vectors in the requested encoding; empty if they have it.

    Many servers ignore ``encoding_format``. OpenAI's SDK for Node requests base64 and reads a list of numbers as an empty vector.
    """
    other = list if encoding == "base64" else str
    if not any(isinstance(row["embedding"], other) for row in data["data"]):
        return b""
    try:
        rows = [{**row, "embedding": _converted(row["embedding"], encoding)} for row in data["data"]]
    except (struct.error, OverflowError, ValueError):
        raise wrong_answer(model, "a vector that contains something other than numbers", "missing_vectors") from None
    return encode_payload({**data, "data": rows}, {})


def _converted(vector: str | list[float], encoding: str) -> str | list[float]:
    if isinstance(vector, list):
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if encoding == "base64" else vector
    data = base64.b64decode(vector, validate=True)
    return vector if encoding == "base64" else list(struct.unpack(f"<{len(data) // 4}f", data))
