"""The reference page of continuation; its tables are generated from the state table of the code."""

from __future__ import annotations


def continuation() -> str:
    """Return the page: states, limits, terminal reasons and native continuation."""
    from parts import documented, page, table

    from helmdeck_core.config.types import AgentConfig
    from helmdeck_core.domain.continuation import (
        TRANSITIONS,
        Continuation,
        NativeContinuation,
        TerminalReason,
        Trigger,
        TurnState,
    )
    from helmdeck_testing import make_deck

    transitions = [(f"`{state.value}`", trigger.value, f"`{to.value}`") for (state, trigger), to in TRANSITIONS.items()]
    ends = f"A turn begins in `{TurnState.REQUEST.value}` and ends in `{TurnState.COMPLETE.value}` or `{TurnState.ABORT.value}`."
    limits = [
        (f"`agent.{name}`", f"`{getattr(AgentConfig(), name)}`", text)
        for name, text in documented(AgentConfig)[1].items()
    ]
    with make_deck() as deck:
        rows = [contribution.value for contribution in deck.runtime.contributed(NativeContinuation).values()]
    native = [(f"`{row.prefix}`", "yes" if row.is_taken else "no", row.evidence) for row in rows]
    fields = [(f"`{name}`", text) for name, text in documented(Continuation)[1].items()]
    return page(
        "Continuation",
        "How a response that was truncated at its output limit is continued. The state machine is sans-IO: it receives responses and "
        "returns requests.",
        ends,
        table(("state", "trigger", "next state"), transitions),
        table(("trigger", "value"), [(f"`{trigger.name}`", trigger.value) for trigger in Trigger]),
        "## Limits",
        "The first limit that is reached ends the turn; the text received so far is returned with a notice.",
        table(("key", "default", "meaning"), limits),
        "## Result",
        "`ChatResponse.continuation` is `None` if no continuation was needed.",
        table(("field", "meaning"), fields),
        f"Terminal reasons: {', '.join(f'`{reason.value}`' for reason in TerminalReason)}.",
        "## Native continuation",
        "Models that continue their own partial answer (prefill). The longest matching prefix decides. Other models receive the "
        "partial answer and a hint. If a model rejects native continuation, the request is repeated with the hint, and the deck uses "
        "the hint for that model from then on.",
        table(("model id prefix", "supported", "evidence"), native),
    )
