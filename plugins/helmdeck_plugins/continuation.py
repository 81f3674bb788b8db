"""Continuation of truncated answers: which models continue natively, what the others are told, and how they announce it.

A model continues natively when it accepts its own unfinished answer as the last message. The rows are from the vendors'
documentation and from public reports of refusals. A refusal is remembered while the deck lives, so that a wrong row costs
one request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helmdeck_core import ContinuationAnnouncement, NativeContinuation, PromptText, Weight, hookimpl

_PREFILL = "documented as prefilling the answer; not with thinking, nor with an output schema"
_ENDED = "answers 400 to a last message of its own: prefilling ended with the 4.6 models"
_TEMPLATE = "continue_final_message, where the chat template supports it"

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
    return rows


@hookimpl
def helmdeck_native_continuations() -> Sequence[NativeContinuation]:
    """The models that are known to take it, and those of their families that are known to refuse."""
    return _rows()


TEXTS: Mapping[str, str] = {
    "continuation.hint": (
        "The output limit cut your last message. Go on with the very next character. Repeat nothing, announce nothing, and do "
        "not open a code block that is open already. If you were about to call a tool, send one complete call and nothing else."
    ),
    "continuation.repair_hint": (
        "Your last message ended before its tool call was complete, and nothing of it was run. Send the tool call once more, "
        "complete, and nothing else."
    ),
    "continuation.repair_error": "What was wrong: {error}.",
    "notice.retry_limit": "the answer is cut: it was still not complete after {attempts} continuations",
    "notice.budget_exhausted": "the answer is cut: its budget of output is used up",
    "notice.cost_limit": "the answer is cut: what the call may cost is used up",
    "notice.safety_blocked": "the answer is cut: the provider's safety filter stopped its continuation",
    "notice.context_window_exceeded": "the answer is cut: with its continuation it does not fit the model's window",
    "notice.provider_error": "the answer is cut: its continuation failed ({cause})",
    "notice.no_progress": "the answer is cut: asked to go on, the model only repeated it, or wrote blanks",
    "notice.unknown_stop": "the answer is cut: its continuation stopped for a reason that is not known",
    "notice.tool_repair_failed": "the tool call was cut and did not come whole when it was asked for again; it was not run",
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
    """The languages in which announcements were seen."""
    return _ANNOUNCEMENTS


@hookimpl
def helmdeck_weights() -> Sequence[Weight]:
    """When more than half of the output was reasoning, a larger limit helps more than a continuation."""
    return [Weight(name="continuation.max_thought_share", value=0.5)]
