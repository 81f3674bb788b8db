"""Continuation of truncated responses: models with native support, hints for the others, their announcements, and joining.

A model continues natively if it accepts its own unfinished message as the last one. The rows are based on the vendors'
documentation and on public reports of rejections. A deck remembers rejections, so a wrong row costs one request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helmdeck_core import (
    ContinuationAnnouncement,
    ContinuationMerger,
    ContinuationMergerSpec,
    NativeContinuation,
    PromptText,
    Weight,
    hookimpl,
)

_PREFILL = "documented as prefill; not with thinking or an output schema"
_ENDED = "rejects a last assistant message with 400: no prefill since the 4.6 models"
_TEMPLATE = "continue_final_message, where the chat template supports it"
_ASSISTANT = (
    "measured 2026-11: llama-server continues a last message of the assistant; its provider recognises it by a header"
)

_CLAUDES = ("claude-2", "claude-3", "claude-opus-4", "claude-sonnet-4", "claude-haiku-4")
_CLAUDES_FROM_4_6 = (
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-sonnet-4-6",
)


def _rows() -> list[NativeContinuation]:
    rows = [NativeContinuation(prefix=f"anthropic/{name}", evidence=_PREFILL) for name in _CLAUDES]
    rows += [
        NativeContinuation(prefix=f"anthropic/{name}", is_taken=False, evidence=_ENDED) for name in _CLAUDES_FROM_4_6
    ]
    rows.append(NativeContinuation(prefix="mistral/", evidence="documented: a last message with prefix true"))
    rows += [NativeContinuation(prefix=f"{name}/", evidence=_TEMPLATE) for name in ("vllm", "sglang", "fireworks")]
    rows.append(NativeContinuation(prefix="llamacpp/", evidence=_ASSISTANT))
    return rows


@hookimpl
def helmdeck_native_continuations() -> Sequence[NativeContinuation]:
    """Models with known support, and exceptions in their families."""
    return _rows()


TEXTS: Mapping[str, str] = {
    "continuation.hint": (
        "The output limit truncated your last message. Continue with the very next character. Repeat nothing, announce nothing, "
        "and do not open a code block that is open already. If you were about to call a tool, send one complete call and nothing "
        "else."
    ),
    "continuation.repair_hint": (
        "Your last message ended before its tool call was complete, and the call was not executed. Send the complete tool call "
        "again, and nothing else."
    ),
    "continuation.repair_error": "Error: {error}.",
    "continuation.repair_calls": "It contained these calls, which were not executed either; send them again as well: {calls}.",
    "retry.call": "You called no tool, but the request requires it. Answer with a call of one of the offered tools, and no other text.",
    "notice.retry_limit": "the response is truncated: it was not complete after {attempts} continuations",
    "notice.budget_exhausted": "the response is truncated: its output budget is exhausted",
    "notice.cost_limit": "the response is truncated: the cost limit of the call is reached",
    "notice.safety_blocked": "the response is truncated: the provider's safety filter stopped the continuation",
    "notice.context_window_exceeded": "the response is truncated: the continuation does not fit the context window",
    "notice.provider_error": "the response is truncated: the continuation failed ({cause})",
    "notice.no_progress": "the response is truncated: the continuation contained only repetition or whitespace",
    "notice.unknown_stop": "the response is truncated: the continuation ended with an unknown stop reason",
    "notice.tool_repair_failed": "the tool call was truncated and could not be repaired; it was not executed",
}


@hookimpl
def helmdeck_prompt_texts() -> Sequence[PromptText]:
    """Hints for models that do not continue natively, and notices for partial answers."""
    return [PromptText(name=name, text=text) for name, text in TEXTS.items()]


_ANNOUNCEMENTS = (
    ContinuationAnnouncement(
        language="en",
        openers=(
            "sure", "certainly", "of course", r"ok(?:ay)?", "understood", "absolutely", "apologies", "sorry", "here", "i",
            "let", "right", "got it", "as", "below",
        ),
        phrases=(
            r"continu\w*", r"resum(?:e|ing)", r"pick(?:ing)? up", r"carry(?:ing)? on", "left off", "cut off",
            r"(?:the )?(?:rest|remainder|remaining)",
        ),
    ),
    ContinuationAnnouncement(
        language="de",
        openers=("natürlich", "gerne?", "hier", "ich"),
        phrases=(r"fortsetz\w*", "fortgesetzt", "weiter"),
    ),
    ContinuationAnnouncement(
        language="fr", openers=("bien sûr", "voici", "d'accord", "je"), phrases=("suite", r"reprend\w*")
    ),
    ContinuationAnnouncement(language="es", openers=("claro", "por", "aquí"), phrases=(r"contin[uú]\w*",)),
    ContinuationAnnouncement(language="pt", openers=("claro", "aqui"), phrases=(r"contin[uú]\w*",)),
    ContinuationAnnouncement(language="it", openers=("certo", "ecco"), phrases=(r"contin[uú]\w*", r"prosegu\w*")),
    ContinuationAnnouncement(language="ru", openers=("конечно",), phrases=(r"продолж\w*",)),
    ContinuationAnnouncement(language="zh", unspaced_phrases=("继续", "接着")),
    ContinuationAnnouncement(language="ja", unspaced_phrases=("続き",)),
    ContinuationAnnouncement(language="ko", unspaced_phrases=("이어서",)),
)  # fmt: skip


@hookimpl
def helmdeck_continuation_announcements() -> Sequence[ContinuationAnnouncement]:
    """Languages with observed announcements."""
    return _ANNOUNCEMENTS


def open_merger(announcements: Sequence[ContinuationAnnouncement]) -> ContinuationMerger:
    """Open the merger."""
    from helmdeck_recovery.continuation.merge import Merger

    return Merger(announcements)


@hookimpl
def helmdeck_continuation_mergers() -> Sequence[ContinuationMergerSpec]:
    """The merger that finds the seam by content."""
    return [ContinuationMergerSpec(name="seam", open=open_merger)]


@hookimpl
def helmdeck_weights() -> Sequence[Weight]:
    """When more than half of the output was reasoning, a larger limit helps more than a continuation."""
    return [Weight(name="continuation.max_thought_share", value=0.5)]
