"""What makes two requests equal: a digest of everything that an answer depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from helmdeck_core import (
    CacheQuery,
    ChatRequest,
    FilePart,
    ImagePart,
    Message,
    ResponseFormat,
    Role,
    SchemaOffer,
    TextPart,
)

VERSION: Final = 1
"""Part of every key; it is raised when the meaning of a key changes, so that older answers are not found."""

NOT_PART_OF_IT: Final = frozenset(
    ("metadata", "prompt_cache_key", "safety_identifier", "store", "stream_options", "user", "client_metadata")
)
"""Fields of a request that name its sender or how the answer is sent; the answer does not depend on them."""


class NotCacheable(Exception):
    """A request cannot have a key; the text is the reason in one word."""


def problem_of(request: ChatRequest, *, sampled: bool) -> str:
    """Return why a call cannot use a cache, in one word; empty if it can.

    :param sampled: calls with a temperature above 0 can.
    """
    if request.temperature and not sampled:
        return "temperature"
    if request.logprobs or request.likelihood is not None:
        return "logprobs"
    if not request.messages or request.turn is not None:
        return "request"
    return ""


def query_of(
    request: ChatRequest, tenant: str, detail: Any = None, *, chain: tuple[str, ...], max_age_s: float | None = None
) -> CacheQuery:
    """Return the query for a request.

    :param detail: what the answer depends on besides the request, such as the schema of a typed question.
    :param chain: the models whose answers may be stored.
    :raises NotCacheable: the request has values that have no canonical form.
    """
    *earlier, last = request.messages
    is_text = last.role is Role.USER and all(isinstance(part, TextPart) for part in last.parts)
    extra = {name: value for name, value in request.extra.items() if name not in NOT_PART_OF_IT}
    tools = [(tool.name, tool.description, tool.input_schema) for tool in request.tools]
    settings = (request.max_tokens, request.temperature, request.tool_choice, request.stop, request.continues)
    form = _format(request.response_format)
    try:
        digest = hashlib.blake2b(_encode((VERSION, chain, settings, tools, form, extra, detail)))
        for message in earlier:
            digest.update(_encode(_plain(message)))
        digest.update(_encode("text" if is_text else _plain(last)))
        scope = digest.hexdigest()[:64]
        texts = [part.text for part in last.texts] if is_text else []
        digest.update(_encode(texts))
    except (UnicodeEncodeError, RecursionError, TypeError, ValueError, OverflowError) as exc:
        raise NotCacheable("request") from exc
    return CacheQuery(
        tenant=tenant,
        key=digest.hexdigest()[:64],
        scope=scope,
        text="".join(texts),
        request=request,
        max_age_s=max_age_s,
    )


def size_of(request: ChatRequest) -> int:
    """Return about how many bytes a key is made of."""
    return sum(
        len(part.text) if isinstance(part, TextPart) else 100 for each in request.messages for part in each.parts
    )


def _plain(message: Message) -> Any:
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    parts = [part.text if isinstance(part, TextPart) else _file(part) for part in message.parts]
    return (message.role.value, parts, calls, message.tool_call_id, message.opaque)


def _file(part: ImagePart | FilePart) -> Any:
    digest = None if part.data is None else hashlib.blake2b(part.data, digest_size=32).hexdigest()
    name = part.name if isinstance(part, FilePart) else ""
    return {"type": part.media_type, "url": part.url, "data": digest, "name": name}


def _format(form: ResponseFormat | None) -> Any:
    if form is None:
        return None
    offer: SchemaOffer | None = form.offer
    return (form.kind, form.name, form.schema, offer is not None)


def _as_data(value: Any) -> Any:
    """The plain form of a value that the encoder does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    raise TypeError(f"{type(value).__name__} has no canonical form")


_encode = msgspec.json.Encoder(enc_hook=_as_data, order="deterministic").encode
