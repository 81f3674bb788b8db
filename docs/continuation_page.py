"""The reference page of continuation: its diagram is made from the table that the code runs on."""

from __future__ import annotations


def continuation() -> str:
    """The states, the limits, the outcomes and who goes on natively."""
    from reference_pages import documented, page, table

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

    arrows = ["    [*] --> Request"]
    arrows += [f"    {state.value} --> {to.value}: {trigger.value}" for (state, trigger), to in TRANSITIONS.items()]
    arrows += [f"    {state.value} --> [*]" for state in (TurnState.COMPLETE, TurnState.ABORT)]
    diagram = "\n".join(["```mermaid", "stateDiagram-v2", *arrows, "```"])
    limits = [
        (f"`agent.{name}`", f"`{getattr(AgentConfig(), name)}`", text)
        for name, text in documented(AgentConfig)[1].items()
    ]
    with make_deck() as deck:
        rows = [owned.value for owned in deck.runtime.contributed(NativeContinuation).values()]
    native = [(f"`{row.prefix}`", "yes" if row.is_taken else "no", row.evidence) for row in rows]
    fields = [(f"`{name}`", text) for name, text in documented(Continuation)[1].items()]
    return page(
        "Continuation",
        "What happens to an answer that its output limit cut. The machine sends nothing itself: it is fed answers and says "
        "what to send. What is not in its table cannot happen, and the diagram is made from the table.",
        diagram,
        table(("trigger", "value"), [(f"`{trigger.name}`", trigger.value) for trigger in Trigger]),
        "## Limits",
        "Whichever is reached first ends the turn; what is there is returned with a notice.",
        table(("key", "default", "meaning"), limits),
        "## What is told",
        "`ChatResponse.continuation` is `None` where one answer was enough.",
        table(("field", "meaning"), fields),
        f"Outcomes: {', '.join(f'`{outcome.value}`' for outcome in TerminalReason)}.",
        "## Who goes on with its own unfinished answer",
        "The longest prefix that fits a model id decides. All other models get the answer so far and a hint. A model that "
        "refuses is asked with the hint at once, and is remembered while the deck lives.",
        table(("model id starts with", "takes it", "evidence"), native),
    )
