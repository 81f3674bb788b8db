"""The choice of a question, which outlives a failed request for its arguments."""

from __future__ import annotations

from typing import Any, Final

import attrs

from helmdeck_core import CallFailed, Choice, FailureClass, Task

UNUSABLE: Final = frozenset(
    (
        FailureClass.LENGTH_TRUNCATED,
        FailureClass.CONSTRAINED_DEADLOCK,
        FailureClass.CONTEXT_WINDOW_EXCEEDED,
        FailureClass.LIKELY_TIMEOUT,
    )
)
"""The model received the request and wrote no usable arguments; after other failures, such as a rejected key, a plan would hide the cause."""


@attrs.define
class MadeChoices:
    """The last choice that was made for a question."""

    last: tuple[Task, Choice] | None = None

    def settle(self, task: Task, choice: Choice) -> list[dict[str, Any]] | None:
        """Remember a choice; see ``settled_steps``."""
        # Imported with the first choice: the embedded planner's modules take a fifth of a command's start.
        from helmdeck_planner.packs.chosen import settled_steps

        self.last = task, choice
        return settled_steps(task, choice)

    def after(self, failure: CallFailed) -> tuple[Choice, list[dict[str, Any]]] | None:
        """Return the choice whose arguments a model failed to write, and its step with those that the request states."""
        from helmdeck_planner.packs.chosen import chosen_step, stated_arguments

        if self.last is None or failure.failure_class not in UNUSABLE:
            return None
        task, choice = self.last
        entry = task.catalog.get(choice.entry_id)
        return None if entry is None else (choice, [chosen_step(entry, stated_arguments(task, choice), choice)])
