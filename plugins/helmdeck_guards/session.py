"""The guards of one request and of its answer."""

from __future__ import annotations

import asyncio
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from helmdeck_core import (
    EMPTY,
    ChatRequest,
    ChatResponse,
    GuardFinding,
    GuardReported,
    GuardSubject,
    StopReason,
)
from helmdeck_guards.errors import GuardBlocked
from helmdeck_guards.placeholders import Placeholders
from helmdeck_guards.plain_text import PlainText, is_json_document, json_value
from helmdeck_guards.settings import GuardSender, OpenGuard
from helmdeck_guards.texts import apart, as_finding, edited, placed, replaced, search, texts_of


class GuardSession:
    """The guards that apply to one request.

    :param report: receives an event for each guard that found something or failed; its place in a call is empty.
    :ivar reports: these events.
    :ivar has_json_text: the text of the answer is JSON, in which restored values are escaped.
    """

    def __init__(
        self, guards: Sequence[OpenGuard], sender: GuardSender, report: Callable[[GuardReported], None] | None = None
    ) -> None:
        self.guards = guards
        self.sender = sender
        self.placeholders: Placeholders = Placeholders()
        self.reports: list[GuardReported] = []
        self._report = report
        self.answer_guards: tuple[OpenGuard, ...] = tuple(each for each in guards if "answer" in each.settings.when)
        self.request: ChatRequest | None = None
        self.has_json_text: bool = False

    # -- the request -------------------------------------------------------------------------------------------

    async def check_request(self, request: ChatRequest) -> ChatRequest:
        """Return the request as the provider may see it.

        :raises GuardBlocked: a guard blocks it.
        """
        guards = [each for each in self.guards if "request" in each.settings.when]
        if any(each.can_redact for each in guards):
            for text, _ in texts_of(request):
                self.placeholders.reserve(text)
        for guard in guards:
            request = await self._check_request(guard, request)
        self.request = request
        self.has_json_text = request.response_format is not None
        return request

    async def _check_request(self, guard: OpenGuard, request: ChatRequest) -> ChatRequest:
        found = list[GuardFinding]()
        try:
            if guard.guard.find is not None:
                request = self._searched(guard, request, found)
            if guard.guard.find_tool is not None:
                allowed_tools = [tool for tool in request.tools if not self.is_refused(guard, tool.name, found)]
                if guard.can_redact and len(allowed_tools) < len(request.tools):
                    request = _with_tools(request, allowed_tools)
        except Exception as exc:
            self.failed(guard, "request", exc)
        texts = tuple(text for text, _ in texts_of(request))
        found += self.too_long(guard, sum(map(len, texts)))
        if guard.guard.check is not None:
            subject = GuardSubject(stage="request", request=request, texts=texts, chars=sum(map(len, texts)))
            request, more = self._redacted(guard, request, await self.checked(guard, subject))
            found += more
        blocking = [each for each in found if not (guard.can_redact and (each.has_place or each.kind == "tool"))]
        self.decide(guard, "request", found, blocking)
        return request

    def _searched(self, guard: OpenGuard, request: ChatRequest, found: list[GuardFinding]) -> ChatRequest:
        """Search all texts; redact the findings where the guard does that."""

        def edit(text: str, is_json: bool) -> str:
            if not text:
                return text
            is_json = is_json or is_json_document(text)
            findings = search(guard, PlainText(text, is_json=is_json), decodes=True)
            found.extend(findings)
            return replaced(text, findings, self._hide(guard, is_json)) if findings and guard.can_redact else text

        def edit_parts(texts: Sequence[str]) -> list[str]:
            new = [edit(text, False) for text in texts]
            if len(new) < 2:
                return new
            # A finding that is split over the parts of a message.
            whole, ends = "".join(new), _ends(new)
            findings = [
                each
                for each in search(guard, PlainText(whole))
                if any(each.start < end < each.stop for end in ends[:-1])
            ]
            found.extend(findings)
            return _replaced_over(new, findings, self._hide(guard)) if guard.can_redact else new

        return edited(request, edit, edit_parts)

    def _hide(self, guard: OpenGuard, is_json: bool = False) -> Callable[[str, str], str]:
        restores, hide = guard.settings.restores, self.placeholders.hide
        return lambda kind, text: hide(kind, json_value(text) if is_json else text, restores=restores)

    def _redacted(
        self, guard: OpenGuard, request: ChatRequest, findings: Sequence[GuardFinding]
    ) -> tuple[ChatRequest, Sequence[GuardFinding]]:
        """Redact what a service found at a place in the texts of the request."""
        if not guard.can_redact or not any(each.has_place for each in findings):
            return request, findings
        found, number = apart(findings), -1

        def edit(text: str, is_json: bool) -> str:
            nonlocal number
            number += 1
            places = [each for each in found if each.text == number]
            return replaced(text, places, self._hide(guard, is_json)) if places else text

        return edited(request, edit, lambda texts: [edit(text, False) for text in texts]), findings

    # -- the answer --------------------------------------------------------------------------------------------

    async def check_answer(self, response: ChatResponse) -> ChatResponse:
        """Return the answer as the caller may see it, with the original text in place of placeholders.

        :raises GuardBlocked: a guard blocks it, and the configuration does not ask for a refusal.
        """
        try:
            for guard in self.answer_guards:
                response = await self.checked_answer(guard, response)
        except GuardBlocked as exc:
            if not exc.is_refusal:
                raise
            return refusal(exc, response)
        return self.restored(response)

    async def checked_answer(self, guard: OpenGuard, response: ChatResponse) -> ChatResponse:
        """Return the answer after one guard; placeholders stay.

        :raises GuardBlocked: the guard blocks it.
        """
        found = list[GuardFinding]()
        try:
            if guard.guard.find is not None:
                response = self._searched_answer(guard, response, found)
            if guard.guard.find_tool is not None:
                for call in response.tool_calls:
                    self.is_refused(guard, call.name, found)
        except Exception as exc:
            self.failed(guard, "answer", exc)
        texts = tuple(filter(None, (response.text, response.reasoning_content, response.refusal)))
        chars = sum(map(len, texts)) + sum(len(call.arguments) for call in response.tool_calls)
        found += self.too_long(guard, chars)
        if guard.guard.check is not None:
            found += await self.checked(guard, self.subject("answer", texts, response, chars))
        blocking = [
            each for each in found if not (guard.can_redact and each.has_place and guard.guard.find is not None)
        ]
        self.decide(guard, "answer", found, blocking)
        return response

    def _searched_answer(self, guard: OpenGuard, response: ChatResponse, found: list[GuardFinding]) -> ChatResponse:
        def edit(text: str, is_json: bool = False) -> str:
            if not text:
                return text
            findings = search(guard, PlainText(text, is_json=is_json))
            found.extend(findings)
            return replaced(text, findings, lambda kind, _: marker(kind)) if findings and guard.can_redact else text

        calls = tuple(attrs.evolve(call, arguments=edit(call.arguments, True)) for call in response.tool_calls)
        text = edit(response.text, self.has_json_text)
        reasoning, refused = edit(response.reasoning_content), edit(response.refusal)
        return attrs.evolve(response, text=text, reasoning_content=reasoning, refusal=refused, tool_calls=calls)

    def restored(self, response: ChatResponse) -> ChatResponse:
        """Return an answer with the original text in place of placeholders."""
        if not self.placeholders:
            return response
        restore = self.placeholders.restore
        calls = tuple(
            attrs.evolve(call, arguments=restore(call.arguments, is_json=True)) for call in response.tool_calls
        )
        return attrs.evolve(
            response,
            text=restore(response.text, is_json=self.has_json_text),
            reasoning_content=restore(response.reasoning_content),
            refusal=restore(response.refusal),
            tool_calls=calls,
        )

    # -- decisions ---------------------------------------------------------------------------------------------

    def subject(self, stage: str, texts: tuple[str, ...], response: ChatResponse | None, chars: int) -> GuardSubject:
        """Return what a guard checks of an answer."""
        assert self.request is not None
        calls = response.tool_calls if response is not None else ()
        return GuardSubject(stage=stage, request=self.request, texts=texts, tool_calls=calls, chars=chars)

    async def checked(self, guard: OpenGuard, subject: GuardSubject) -> Sequence[GuardFinding]:
        """Return the findings of ``Guard.check``; none if it failed and failures pass.

        :raises GuardBlocked: it failed, and failures block.
        """
        assert guard.guard.check is not None
        try:
            async with asyncio.timeout(guard.settings.timeout_s):
                sizes = tuple(map(len, subject.texts))
                return [placed(each, *sizes) for each in await guard.guard.check(subject)]
        except TimeoutError as exc:
            reason = TimeoutError(f"no answer within {guard.settings.timeout_s:g} s")
            self.failed(guard, subject.stage, reason, exc)
        except Exception as exc:
            self.failed(guard, subject.stage, exc)
        return []

    def search(self, guard: OpenGuard, text: PlainText) -> Sequence[GuardFinding]:
        """Return the findings in a text of a stream; none if the guard failed and failures pass.

        :raises GuardBlocked: it failed, and failures block.
        """
        try:
            return search(guard, text)
        except Exception as exc:
            self.failed(guard, "stream", exc)
            return ()

    def held_from(self, guard: OpenGuard, text: PlainText) -> int:
        """Return from where a guard holds a text of a stream back; its length if the guard failed and failures pass.

        :raises GuardBlocked: as for ``search``.
        """
        assert guard.guard.held_from is not None
        try:
            return operator.index(guard.guard.held_from(text.plain))
        except Exception as exc:
            self.failed(guard, "stream", exc)
            return len(text.plain)

    def too_long(self, guard: OpenGuard, chars: int) -> list[GuardFinding]:
        """Return the finding of a length beyond the limit of a guard, if it is."""
        most = guard.guard.max_chars
        return [GuardFinding("too_long")] if most is not None and chars > most else []

    def decide(
        self, guard: OpenGuard, stage: str, found: Sequence[GuardFinding], blocking: Sequence[GuardFinding]
    ) -> None:
        """Report findings, and block where the guard does that.

        :raises GuardBlocked: the guard blocks.
        """
        if not found:
            return
        kinds = dict(Counter(each.kind for each in found))
        if guard.settings.action == "flag":
            self._emit(guard, stage, "flagged", kinds)
        elif blocking:
            self._emit(guard, stage, "blocked", kinds)
            raise GuardBlocked(guard.name, stage, kinds, is_refusal=guard.settings.blocked == "refusal")
        else:
            self._emit(guard, stage, "redacted", kinds)

    def failed(self, guard: OpenGuard, stage: str, error: Exception, cause: BaseException | None = None) -> None:
        """Report a guard that failed.

        :raises GuardBlocked: failures of the guard block.
        """
        if isinstance(error, GuardBlocked):
            raise error
        # The message of an exception may quote the text.
        reason = str(error) if cause is not None else type(error).__name__
        if guard.settings.on_failure == "pass":
            if not self._has_reported(guard, stage):
                self._emit(guard, stage, "failed_open", {}, reason)
            return
        self._emit(guard, stage, "failed_closed", {}, reason)
        raise GuardBlocked(guard.name, stage, {}, reason) from None

    def _has_reported(self, guard: OpenGuard, stage: str) -> bool:
        return any(each.guard == guard.name and each.stage == stage and each.detail for each in self.reports)

    def _emit(self, guard: OpenGuard, stage: str, outcome: str, kinds: dict[str, int], detail: str = "") -> None:
        place: Any = {"call_id": "", "pack": "", "caller": self.sender.caller}
        event = GuardReported(**place, guard=guard.name, stage=stage, outcome=outcome, kinds=kinds, detail=detail)
        self.reports.append(event)
        if self._report is not None:
            self._report(event)

    def is_refused(self, guard: OpenGuard, name: str, found: list[GuardFinding]) -> bool:
        """Return whether a guard refuses a tool; its finding is added to ``found``."""
        assert guard.guard.find_tool is not None
        finding = guard.guard.find_tool(name)
        if finding is None:
            return False
        found.append(as_finding(finding))
        return True


def marker(kind: str) -> str:
    """Return the marker of a redacted part of an answer; it is not restored."""
    return f"[{kind.upper()}]"


def refusal(block: GuardBlocked, response: ChatResponse | None = None, shown: str = "") -> ChatResponse:
    """Return the answer to a request that a guard blocked, as a refusal of the model.

    :param response: the blocked answer, for its token usage.
    :param shown: the text that was streamed already.
    """
    base = response or ChatResponse(text="", stop_reason=StopReason.SAFETY_BLOCKED)
    return attrs.evolve(
        base,
        text=shown,
        refusal=str(block),
        reasoning_content="",
        tool_calls=(),
        stop_reason=StopReason.SAFETY_BLOCKED,
        disposition=None,
        raw_stop_reason=None,
        opaque=EMPTY,
    )


def _with_tools(request: ChatRequest, allowed_tools: Sequence[Any]) -> ChatRequest:
    """The request with fewer tools; a choice that nothing is left for is dropped."""
    names = {tool.name for tool in allowed_tools}
    choice = request.tool_choice
    if not allowed_tools or (choice not in (None, "auto", "none", "required") and choice not in names):
        choice = None
    return attrs.evolve(request, tools=tuple(allowed_tools), tool_choice=choice)


def _ends(texts: Sequence[str]) -> list[int]:
    ends, at = list[int](), 0
    for text in texts:
        at += len(text)
        ends.append(at)
    return ends


def _replaced_over(
    texts: Sequence[str], findings: Sequence[GuardFinding], placeholder: Callable[[str, str], str]
) -> list[str]:
    """Redact findings that extend over several texts: the placeholder is in the first one."""
    whole, new, at = "".join(texts), list[str](), 0
    for text in texts:
        stop, parts, end = at + len(text), list[str](), at
        for each in findings:
            if each.start < stop and each.stop > at:
                parts.append(whole[end : max(end, each.start)])
                if each.start >= at:
                    parts.append(placeholder(each.kind, whole[each.start : each.stop]))
                end = min(stop, each.stop)
        new.append("".join([*parts, whole[end:stop]]))
        at = stop
    return new
