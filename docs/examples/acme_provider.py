"""A provider: models that a server of our own serves, in a wire format of its own."""

from helmdeck_core import (
    AuthFailed,
    ChatResponse,
    Constraint,
    InvalidRequest,
    ProviderSpec,
    ProviderUnavailable,
    RateLimited,
    SchemaDialect,
    StopReason,
    StopReasonTable,
    TransientUnknown,
    Usage,
    constrained,
    hookimpl,
)

WIRE_FORMAT = "acme"
SCHEMAS = SchemaDialect(
    name="acme",
    keywords=frozenset(("description", "maxLength")),
    closes_objects=True,
    most_properties=500,
)


def held_to(request):
    """What the server holds an answer to: a schema, in what it takes of JSON Schema, or nothing."""
    wanted = request.response_format
    return Constraint() if wanted is None else constrained(wanted, ("json_schema",), SCHEMAS)


class Acme:
    """An open connection to the server."""

    def __init__(self, settings, context):
        import httpx  # here, so that a deck that never asks this provider does not pay for it

        self._settings = settings
        self._context = context
        timeout = httpx.Timeout(settings.timeout_s, connect=settings.connect_timeout_s)
        self._http = httpx.AsyncClient(base_url=settings.base_url, timeout=timeout)

    async def complete(self, request):
        """Ask once; whatever goes wrong becomes the exception of its cause."""
        import httpx

        held = held_to(request)
        body = {
            "model": request.model.partition("/")[2],
            "prompt": "\n\n".join(message.text for message in request.messages),
            "limit": request.max_tokens,
            "shape": held.schema,
        }
        # The key is read when it is needed and kept nowhere.
        headers = {"x-acme-key": self._settings.api_key()} if self._settings.api_key else {}
        try:
            answer = await self._http.post("/generate", json=body, headers=headers)
        except httpx.TransportError as exc:
            raise ProviderUnavailable("the server cannot be reached", detail=type(exc).__name__) from exc
        if answer.status_code == 401:
            raise AuthFailed("the server refused the key", status=401)
        if answer.status_code == 422:
            raise InvalidRequest("the server refused the schema", status=422, sub_cause="schema_refused")
        if answer.status_code == 429:
            wait = answer.headers.get("retry-after", "")
            raise RateLimited("the server is busy", status=429, retry_after_s=float(wait) if wait.isdigit() else None)
        if answer.status_code != 200:
            raise TransientUnknown("the server failed", status=answer.status_code)
        try:
            said = answer.json()
        except ValueError as exc:
            raise TransientUnknown("the server did not answer with JSON", status=200) from exc
        if "output" not in said:  # an error that came with HTTP 200
            raise TransientUnknown("the server gave no output", status=200, detail=str(said.get("error", "")))
        reason = self._context.normalise_stop(said.get("why"), WIRE_FORMAT)
        return ChatResponse(
            text=said["output"],
            stop_reason=reason,
            strict_stop_reason=reason,
            raw_stop_reason=said.get("why"),
            usage=Usage(input_tokens=said.get("read", 0), output_tokens=said.get("written", 0)),
            served_model=said.get("model", ""),
            downgrades=held.downgrades,  # what was asked for and not sent is reported, never dropped silently
            constraint=held.label,
        )

    async def aclose(self):
        """Close the connections."""
        await self._http.aclose()


@hookimpl
def helmdeck_providers():
    """Models called ``acme/...``."""
    return [
        ProviderSpec(
            name="acme",
            open=Acme,
            summary="our own server",
            base_url="https://models.acme.example",
            api_key="env:ACME_API_KEY",
            constrain=lambda _, request: held_to(request),
        )
    ]


@hookimpl
def helmdeck_stop_reasons():
    """What the server says when it stops; a word that is not here is never a clean end."""
    words = {"done": StopReason.END_TURN, "limit": StopReason.MAX_TOKENS, "refused": StopReason.SAFETY_BLOCKED}
    return [StopReasonTable(name=WIRE_FORMAT, reasons=words)]
