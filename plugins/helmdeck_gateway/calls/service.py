"""Makes the calls of the gateway: one request of a client is one call of the deck."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from helmdeck_cache import CachedDeck
from helmdeck_core import (
    Answer,
    CallFailed,
    CallLimits,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Decoded,
    Helmdeck,
    Message,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    UntrustedSchema,
    schema_mistake,
)
from helmdeck_gateway.accounts.keys import unavailable
from helmdeck_gateway.accounts.ledger import Ledger
from helmdeck_gateway.accounts.principals import Principal
from helmdeck_gateway.accounts.request_costs import input_tokens
from helmdeck_gateway.batches.files import Files
from helmdeck_gateway.calls.aside import aside
from helmdeck_gateway.calls.cache_use import cache_use
from helmdeck_gateway.calls.call_record import CallRecord
from helmdeck_gateway.calls.client_deadlines import lowest
from helmdeck_gateway.calls.empty_turns import is_silent, nudged, with_usage
from helmdeck_gateway.calls.extra_fields import extra_fields
from helmdeck_gateway.calls.leading_whitespace import LeadingWhitespace
from helmdeck_gateway.calls.stored_files import with_files
from helmdeck_gateway.calls.targets import Targets, listed
from helmdeck_gateway.calls.tool_budget import Narrower
from helmdeck_gateway.calls.work import NO_LIMITS, PLAN_MODEL, Work
from helmdeck_gateway.conversations.gateway_state import DAY_S, GatewayState
from helmdeck_gateway.dialects.parsed import Parsed
from helmdeck_gateway.problems import invalid
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_guards import GuardBlocked, Guards, GuardSender, guarded_stream, refusal
from helmdeck_storage import StorageError

MODEL_FIELDS = frozenset(("models", "route", "fallbacks", "plugins", "preset"))
"""Fields that make an upstream call other models; a sender whose models are limited cannot use them."""

SCHEMA_WEIGHT: Final = 25
"""How much longer a byte of a schema takes to check than one of another request takes to read."""

_ENDS = tuple(".!?…。！？؟।)]}>`\"'”’»*_")
"""Characters at the end of a sentence or block; a model that adds nothing after one may have nothing to add."""

_encode = msgspec.json.Encoder().encode


class Service:
    """Calls models over one deck.

    :param state: what is remembered of conversations.
    """

    def __init__(self, deck: Helmdeck, settings: GatewaySettings, state: GatewayState) -> None:
        self.deck = deck
        self.settings = settings
        self.state = state
        self.cached: CachedDeck = CachedDeck(deck, state.response_caches(deck.runtime))
        self.targets: Targets = Targets(deck, settings.aliases)
        self.narrower: Narrower = Narrower(deck, state.choices)
        self.guards: Guards = Guards(deck)
        self._limits = CallLimits(deadline_s=settings.deadline_s) if settings.deadline_s else NO_LIMITS

    def prepare(self, parsed: Parsed, family: str, principal: Principal, size: int) -> Work:
        """Return the request to send.

        :param family: the plugin that speaks the client's dialect.
        :param size: bytes of the client's request.
        :raises Problem: it has too many tools, or the sender may not use the model.
        """
        if (count := len(parsed.request.tools)) > (most := self.settings.max_tools):
            raise invalid(f"at most {most:,} tools are allowed, found {count:,}", "tools")
        name = parsed.request.model or self.deck.runtime.config.model
        principal.check_model(name)
        if name == PLAN_MODEL:
            dropped = (*parsed.dropped, *parsed.native, *(["tools"] if parsed.request.tools else []))
            return Work(
                parsed=parsed, request=parsed.request, name=name, principal=principal, record=CallRecord(),
                size=size, dropped=dropped, limits=self._limits,
            )  # fmt: skip
        target = self.targets.find(name, lambda: _start_of(parsed.request, principal), principal.may_use)
        native = parsed.native
        if principal.has_model_limit:  # routers such as OpenRouter would call other models
            native = {field: value for field, value in native.items() if field not in MODEL_FIELDS}
        extra, left_out = extra_fields(family, target, native, parsed.shared)
        left_out = (*left_out, *(field for field in parsed.native if field not in native))
        limits = self._limits
        if target.fallbacks is not None:
            limits = attrs.evolve(limits, fallbacks=target.fallbacks)
        work = Work(
            parsed=parsed,
            request=attrs.evolve(parsed.request, model=target.model, extra=extra, keeps_limit=True),
            name=name,
            principal=principal,
            record=CallRecord(),
            size=size,
            dropped=(*parsed.dropped, *left_out),
            limits=limits,
        )
        if work.enforced_schema is not None:
            work.dropped = (*work.dropped, *_not_in_questions(work.request))
        return work

    async def check_schema(self, work: Work) -> None:
        """Check the schema of structured output before a call is made; the first check of a large one takes long.

        :raises Problem: it is malformed or too large.
        """
        form = work.request.response_format
        if form is None or not form.schema or work.is_plan:
            return
        if mistake := await aside(work.size * SCHEMA_WEIGHT, schema_mistake, form.schema):
            raise invalid(f"the JSON Schema {mistake}", "response_format")

    async def load_files(self, work: Work, take: Callable[[int], None]) -> None:
        """Put the contents of stored files of the sender in their places.

        :param take: gets the size of each, before it is read.
        :raises Problem: the sender has no such file, or they are too large.
        """
        most, kept_s = self.settings.max_request_bytes, self.settings.stored_days * DAY_S
        files = Files(self.state.open_store(), work.principal.caller, kept_s)
        try:
            messages = await with_files(work.request.messages, files, most, take)
        except StorageError as exc:
            raise unavailable(exc) from exc
        work.request = attrs.evolve(work.request, messages=messages)

    def keep_deadline(self, work: Work, deadline_s: float | None) -> None:
        """End a call before its client stops waiting.

        :param deadline_s: of the client; ``None`` for no deadline.
        """
        if deadline_s is not None:
            own_s = work.limits.deadline_s or self.deck.runtime.config.recovery.deadline_s
            work.limits = attrs.evolve(work.limits, deadline_s=lowest(own_s, deadline_s))

    async def check_request(self, work: Work, dialect: str) -> None:
        """Check the request by the guards that apply, and redact what they redact.

        :param dialect: the name of the endpoint.
        :raises GuardBlocked: a guard blocks it, and the configuration does not ask for a refusal.
        """
        record, sender = work.record, _guard_sender(work.principal, work.name, dialect)
        record.emit = self.deck.runtime.emit
        work.guards = self.guards.session(sender, work.request.model, record.report_guard)
        if work.guards is None:
            return
        try:
            work.request = await work.guards.check_request(work.request)
            work.guards.has_json_text |= work.is_plan
        except GuardBlocked as exc:
            record.report_blocked()
            if not exc.is_refusal:
                raise
            work.blocked = exc

    async def check_texts(
        self, texts: Sequence[str], principal: Principal, name: str, model: str, dialect: str
    ) -> Sequence[str]:
        """Return texts that are sent in another way than as messages, as the guards leave them.

        :param name: the client's name for the model.
        :raises GuardBlocked: a guard blocks them.
        """
        sender = _guard_sender(principal, name, dialect)
        session = self.guards.session(sender, model, self.deck.runtime.emit)
        if session is None:
            return texts
        messages = tuple(Message(Role.USER, (TextPart(text),)) for text in texts)
        checked = await session.check_request(ChatRequest(model=model, messages=messages))
        return [message.text for message in checked.messages]

    def use_cache(self, work: Work, headers: Mapping[bytes, bytes]) -> None:
        """Decide whether a request uses the response caches.

        :raises Problem: a header has an unknown value.
        """
        work.cache = cache_use(self.cached.caches.settings, work, headers)

    async def narrow_tools(self, work: Work) -> None:
        """Leave out what exceeds the budget of the model, unless the settings or the sender's say otherwise."""
        principal = work.principal
        is_narrowed = self.settings.narrows_tools if principal.narrows_tools is None else principal.narrows_tools
        if not is_narrowed or work.is_plan:
            return
        narrowed = await self.narrower.narrow(work.request, principal.caller, work.size)
        if narrowed is None:
            return
        work.request = attrs.evolve(work.request, tools=narrowed.tools)
        work.record.tools = narrowed.record
        work.headers["x-helmdeck-tools"] = listed([narrowed.summary])
        if narrowed.left_out:
            work.headers["x-helmdeck-tools-left-out"] = listed(narrowed.left_out)

    async def admit(self, work: Work, ledger: Ledger) -> None:
        """Admit a request within the limits of its key.

        :raises Problem: a limit is reached.
        """
        if (key := work.principal.key) is None:
            return
        request = work.request
        tokens = await aside(work.size, input_tokens, request)
        model, most = request.model, request.max_tokens
        if work.is_plan:
            model = self.deck.runtime.config.model
            tokens += ledger.pricing.plan_tokens(model)
        if work.is_plan or work.enforced_schema is not None:  # a typed question has the limit of the model's budget
            most = self.deck.budget(model).budget.max_tokens
        work.booking = await ledger.admit(key, model, tokens, most, work.limits.fallbacks, teams=work.principal.teams)
        work.record.spend = work.booking.spend

    async def complete(self, work: Work) -> ChatResponse:
        """Make a call and return the whole response.

        :raises CallFailed: the subclass of the cause.
        """
        if work.blocked is not None:
            return refusal(work.blocked)
        response = await self._completed(work)
        return response if work.guards is None else await work.guards.check_answer(response)

    async def _completed(self, work: Work) -> ChatResponse:
        """Make a call and return the response of the model."""
        if work.is_plan:
            return await self._plan(work)
        if (schema := work.enforced_schema) is not None:
            return await self._decoded(work, schema)
        try:
            response = await self.cached.acomplete(
                work.request,
                cache=work.cache,
                caller=work.principal.caller,
                limits=work.limits,
                allows_truncated=False,
            )
        except CallFailed as exc:
            response = work.truncated(exc)
        return await self.finished(work, await self._not_silent(work, response))

    def stream(self, work: Work) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Make a call: yield the deltas in batches, and last the response.

        Plans, structured output and required tool calls are checked as a whole before their first delta.

        :raises CallFailed: the subclass of the cause.
        """
        chunks = self._streamed(work)
        return chunks if work.guards is None or work.blocked is not None else guarded_stream(work.guards, chunks)

    async def _streamed(self, work: Work) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Make a call: yield what the model streams."""
        if work.blocked is not None:
            yield refusal(work.blocked)
            return
        if work.is_plan or work.enforced_schema is not None or work.request.requires_call:
            yield await self._completed(work)
            return
        stream: Any = self.deck.astream_batches  # each layer costs time in every chunk
        if work.cache is not None:
            stream = functools.partial(self.cached.astream_batches, cache=work.cache)
        chunks = stream(work.request, caller=work.principal.caller, limits=work.limits, allows_truncated=False)
        start, shown = LeadingWhitespace(), list[str]()
        try:
            async for chunk in chunks:
                if isinstance(chunk, ChatResponse):
                    yield await self.finished(work, await self._not_silent(work, chunk))
                elif deltas := start.feed(chunk, work.record.attempts):
                    shown += [delta.text for delta in deltas]
                    yield deltas
        except CallFailed as exc:
            response = work.truncated(exc)
            yield await self.finished(work, attrs.evolve(response, text="".join(shown) or response.text))
        finally:
            await chunks.aclose()

    async def _not_silent(self, work: Work, response: ChatResponse) -> ChatResponse:
        """Return the response; where it leaves the result of a tool without an answer, that of a second call."""
        if not is_silent(work.request, response):
            return response
        record = work.record
        first = record.call_id, record.model, record.attempts
        record.call_id = ""
        try:
            again = await self.deck.acomplete(nudged(work.request), caller=work.principal.caller, limits=work.limits)
        except CallFailed:  # no model has anything to add
            record.call_id, record.model, record.attempts = first
            return response
        return with_usage(again, response.usage)

    async def finished(self, work: Work, response: ChatResponse) -> ChatResponse:
        """Return a response as clients get it: with tool calls that the model wrote as text, and with valid JSON."""
        return await aside(len(response.text), self._finished, work, response)

    def _finished(self, work: Work, response: ChatResponse) -> ChatResponse:
        if is_truncated(response):
            response = attrs.evolve(response, stop_reason=StopReason.MAX_TOKENS)
        response = self._with_tool_calls(work.request, response)
        if work.request.response_format is not None and not response.tool_calls and response.text:
            response = self._with_json(work.request.response_format, response)
        if response.downgrades:
            work.headers["x-helmdeck-downgrades"] = listed(response.downgrades)
        return response

    def _with_tool_calls(self, request: ChatRequest, response: ChatResponse) -> ChatResponse:
        """Convert tool calls that a model wrote as text, and leave them out of the text."""
        if not request.tools or not response.text or request.tool_choice == "none":
            return response
        if not response.tool_calls and response.continuation is None:
            return response  # the call has read it already, and found none
        raw = response.raw_stop_reason
        found = self.deck.tool_calls(response.text, tools=request.tools, stop_reason=raw, model=request.model)
        names = [each.call.name for each in found.calls]
        if not names or (response.tool_calls and names != [call.name for call in response.tool_calls]):
            return response
        calls = response.tool_calls or tuple(each.call for each in found.calls)
        return attrs.evolve(response, text=found.text.strip(), tool_calls=calls, stop_reason=StopReason.TOOL_CALL)

    def _with_json(self, form: ResponseFormat, response: ChatResponse) -> ChatResponse:
        """Decode structured output beside tools.

        :raises CallFailed: the text is not what the schema requires.
        """
        raw = response.raw_stop_reason
        schema: Any = UntrustedSchema(form.schema or {"type": "object"})
        decoded: Decoded[Any] = self.deck.decode(response.text, schema, raw)
        return attrs.evolve(response, text=response.text if _is_json(response.text) else _text_of(decoded.value))

    async def _decoded(self, work: Work, schema: Mapping[str, Any]) -> ChatResponse:
        """Ask for structured output: the schema is enforced and decoded, whatever the model supports natively."""
        request = work.request
        answer_type: Any = UntrustedSchema(schema)
        answer: Answer[Any] = await self.cached.aask(
            request.messages,
            answer_type,
            cache=work.cache,
            model=request.model,
            temperature=request.temperature,
            caller=work.principal.caller,
            limits=work.limits,
        )
        text = answer.response.text.strip()
        if not _is_json(text):
            text = _text_of(answer.value)
        return attrs.evolve(
            answer.response,
            text=text,
            usage=answer.usage,
            stop_reason=StopReason.END_TURN,
            disposition=None,
            attempts=answer.attempts,
        )

    async def _plan(self, work: Work) -> ChatResponse:
        """Plan the last message of the user; the plan is the text of the response, as JSON."""
        messages = work.request.messages
        users = [message.text for message in messages if message.role is Role.USER]
        context = "\n\n".join(message.text for message in messages if message.role is Role.SYSTEM)
        plan = await self.deck.aplan(
            users[-1] if users else "", context=context, caller=work.principal.caller, limits=work.limits
        )
        return ChatResponse(
            text=_text_of(plan.to_dict()),
            stop_reason=StopReason.END_TURN,
            usage=plan.usage,
            served_model=plan.served_model or plan.model,
        )


def is_truncated(response: ChatResponse) -> bool:
    """Whether a text was interrupted inside a sentence, and the model that was to continue it added nothing."""
    record = response.continuation
    if record is None or not record.models or response.tool_calls or response.stop_reason is not StopReason.END_TURN:
        return False
    before = response.text[: len(response.text) - record.parts[-1]].rstrip()
    return response.text.rstrip() == before and not before.endswith(_ENDS)


def _guard_sender(principal: Principal, name: str, dialect: str) -> GuardSender:
    key, team = (principal.key.name, principal.key.team) if principal.key is not None else ("", "")
    return GuardSender(caller=principal.caller, key=key, team=team, dialect=dialect, model=name)


def _start_of(request: ChatRequest, principal: Principal) -> bytes:
    """What stays the same in all turns of a conversation: its caller, and its messages up to the first one of the user."""
    texts = [principal.caller]
    for message in request.messages:
        texts.append(message.text)
        if message.role is Role.USER:
            break
    return "\n".join(texts).encode("utf-8", "replace")


def _not_in_questions(request: ChatRequest) -> Iterable[str]:
    """The fields that a typed question does not send."""
    if request.max_tokens is not None:
        yield "max_tokens"
    if request.stop:
        yield "stop"
    yield from request.extra


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _text_of(value: Any) -> str:
    return _encode(value).decode()
