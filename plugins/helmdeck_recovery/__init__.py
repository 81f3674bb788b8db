"""What follows an unusable answer: the action for each cause, and the continuation of truncated output.

- **In**: a failure class with its sub-cause; the parts of a truncated answer that was continued.
- **Out**: actions in the order in which the call machine tries them; one text without repetition or loss.
- **Hooks**: ``helmdeck_recovery_rules``, ``helmdeck_continuation_mergers``, ``helmdeck_continuation_announcements``,
  ``helmdeck_native_continuations``, ``helmdeck_prompt_texts``, ``helmdeck_weights``.
- **Begin** with ``rules`` (the table of causes and actions) and ``continuation`` (its data; ``continuation.merge`` joins the parts).
  The machines that execute both are in the core: ``helmdeck_core.calls.recovery_policy`` and ``helmdeck_core.calls``; numbers such as
  ``max_attempts`` and ``backoff_s`` are settings of ``[recovery]``.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
