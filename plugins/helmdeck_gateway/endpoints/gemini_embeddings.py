"""Gemini's ``embedContent`` and ``batchEmbedContents``, as requests of ``/v1/embeddings``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec

from helmdeck_gateway.calls.direct_calls import DirectCalls
from helmdeck_gateway.calls.targets import listed
from helmdeck_gateway.dialects import gemini as gemini_dialect
from helmdeck_gateway.dialects.gemini_schema import camel_case
from helmdeck_gateway.dialects.parsed import field, objects, required
from helmdeck_gateway.endpoints.bodies import JsonBody
from helmdeck_gateway.endpoints.calls import Door
from helmdeck_gateway.endpoints.direct import Direct
from helmdeck_gateway.endpoints.embeddings import EmbeddingsEndpoint
from helmdeck_gateway.problems import invalid

if TYPE_CHECKING:
    from starlette.types import Receive, Scope


_READ: Final = frozenset(("model", "content", "outputDimensionality"))


@attrs.frozen
class _Body(JsonBody):
    """A body whose fields are those of an embeddings request.

    :ivar dropped: names of Google's fields that other providers have no counterpart for, such as ``taskType``.
    """

    dropped: Sequence[str] = ()


class GeminiEmbeddings(EmbeddingsEndpoint):
    """Both methods; the model and the method are in ``scope``."""

    def __init__(self, door: Door, calls: DirectCalls) -> None:
        super().__init__(door, calls)
        self.dialect = gemini_dialect

    async def read(self, scope: Scope, receive: Receive) -> JsonBody:
        """Read the body as that of an embeddings request."""
        body = await super().read(scope, receive)
        model, method = scope["helmdeck.gemini"]
        fields = camel_case(body.fields)
        if method == "embedContent":
            requests, texts = [fields], [_text(fields, "")]
        else:
            requests = [camel_case(each) for each in objects(required(fields, "requests", list), "requests")]
            texts = [_text(each, f"requests[{index}].") for index, each in enumerate(requests)]
            if not requests:
                raise invalid("this field is required", "requests")
        lengths = {field(each, "outputDimensionality", int) for each in requests}
        if len(lengths) > 1:
            raise invalid("must be the same in all requests", "requests[].outputDimensionality")
        shared: dict[str, Any] = {"model": model, "input": texts, "encoding_format": "float"}
        if (dimensions := lengths.pop()) is not None:
            shared["dimensions"] = dimensions
        dropped = dict.fromkeys(name for each in requests for name in each if name not in _READ)
        return _Body(shared, body.size, dropped=tuple(dropped))

    async def answer(self, work: Direct) -> bytes:
        """Return the vectors in Google's form."""
        data = msgspec.json.decode(await super().answer(work))
        if isinstance(work.body, _Body) and work.body.dropped:
            work.headers["x-helmdeck-dropped"] = listed(work.body.dropped)
        rows = sorted(data["data"], key=lambda row: row.get("index") or 0)
        vectors = [{"values": row["embedding"]} for row in rows]
        return msgspec.json.encode({"embeddings": vectors, "embedding": vectors[0]})


def _text(request: Mapping[str, Any], where: str) -> str:
    """The text of the content of a request.

    :raises Problem: it has none, or other parts.
    """
    content, where = required(request, "content", dict, where), f"{where}content."
    parts = objects(required(content, "parts", list, where), f"{where}parts")
    text = "\n".join(required(part, "text", str, f"{where}parts[{index}].") for index, part in enumerate(parts))
    if not text:
        raise invalid("this field is required", f"{where}parts")
    return text
