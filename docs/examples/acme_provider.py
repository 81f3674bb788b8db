"""A provider for a server with its own wire format."""

from helmdeck_core import (
    AuthFailed,
    ChatResponse,
    Constraint,
    InvalidRequest,
    ProviderSpec,
    ProviderUnavailable,
    RateLimited,
    StopReason,
    StopReasonTable,
    TransientUnknown,
    Usage,
    hookimpl,
)
from helmdeck_providers import SchemaDialect, constrained

WIRE_FORMAT = "acme"
SCHEMAS = SchemaDialect(
    name="acme",
    keywords=frozenset(("description", "maxLength")),
    closes_objects=True,
    most_properties=500,
)


def constraint_of(request):
    """Adapt the requested response format to the schemas that the server supports."""
    response_format = request.response_format
    return Constraint() if response_format is None else constrained(response_format, ("json_schema",), SCHEMAS)


class Acme:
    """A client of the server."""

    def __init__(self, settings, context):
        import httpx  # imported here, so that decks which never use this provider start quickly

        self._settings = settings
        self._context = context
        timeout = httpx.Timeout(settings.timeout_s, connect=settings.connect_timeout_s)
        self._http = httpx.AsyncClient(base_url=settings.base_url, timeout=timeout)

    async def complete(self, request):
        """Send one request; every failure is raised as the exception of its cause."""
        import httpx

        constraint = constraint_of(request)
        body = {
            "model": request.model.partition("/")[2],
            "prompt": "\n\n".join(message.text for message in request.messages),
            "limit": request.max_tokens,
            "shape": constraint.schema,
        }
        # The key is read for each request and not stored.
        headers = {"x-acme-key": self._settings.api_key()} if self._settings.api_key else {}
        try:
            response = await self._http.post("/generate", json=body, headers=headers)
        except httpx.TransportError as exc:
            raise ProviderUnavailable("the server cannot be reached", detail=type(exc).__name__) from exc
        if response.status_code == 401:
            raise AuthFailed("the server refused the key", status=401)
        if response.status_code == 422:
            raise InvalidRequest("the server refused the schema", status=422, sub_cause="schema_refused")
        if response.status_code == 429:
            wait = response.headers.get("retry-after", "")
            raise RateLimited("the server is busy", status=429, retry_after_s=float(wait) if wait.isdigit() else None)
        if response.status_code != 200:
            raise TransientUnknown("the server failed", status=response.status_code)
        try:
            payload = response.json()
        except ValueError as exc:
            raise TransientUnknown("the server did not answer with JSON", status=200) from exc
        if "output" not in payload:  # an error with HTTP 200
            raise TransientUnknown("the server gave no output", status=200, detail=str(payload.get("error", "")))
        reason = self._context.normalise_stop(payload.get("why"), WIRE_FORMAT)
        return ChatResponse(
            text=payload["output"],
            stop_reason=reason,
            strict_stop_reason=reason,
            raw_stop_reason=payload.get("why"),
            usage=Usage(input_tokens=payload.get("read", 0), output_tokens=payload.get("written", 0)),
            served_model=payload.get("model", ""),
            downgrades=constraint.downgrades,  # unsupported features are reported, never dropped silently
            constraint=constraint.label,
        )

    async def aclose(self):
        """Close the connections."""
        await self._http.aclose()


@hookimpl
def helmdeck_providers():
    """Provide the models ``acme/...``."""
    return [
        ProviderSpec(
            name="acme",
            open=Acme,
            summary="our own server",
            base_url="https://models.acme.example",
            api_key="env:ACME_API_KEY",
            constrain=lambda _, request: constraint_of(request),
        )
    ]


@hookimpl
def helmdeck_stop_reasons():
    """Map the finish reasons of the server; an unknown one is never a clean end."""
    reasons = {"done": StopReason.END_TURN, "limit": StopReason.MAX_TOKENS, "refused": StopReason.SAFETY_BLOCKED}
    return [StopReasonTable(name=WIRE_FORMAT, reasons=reasons)]
