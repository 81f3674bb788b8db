"""Continuation of truncated answers: which of our models support prefill, and how a Dutch model announces the rest."""

from helmdeck_core import ContinuationAnnouncement, NativeContinuation, hookimpl


@hookimpl
def helmdeck_native_continuations():
    """The longest matching prefix of a model id applies."""
    return [
        NativeContinuation(prefix="acme/", evidence="the manual of our server: prefix mode"),
        NativeContinuation(prefix="acme/chat-", is_taken=False, evidence="answers with HTTP 400"),
    ]


@hookimpl
def helmdeck_continuation_announcements():
    """Regular expressions; ``Natuurlijk, hier is de rest:`` is removed before the texts are joined."""
    return [ContinuationAnnouncement(language="nl", openers=("natuurlijk", "hier"), phrases=("de rest", r"ga verder"))]
