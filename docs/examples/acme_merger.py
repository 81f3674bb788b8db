"""A merger that removes the longest overlap between a truncated answer and its continuation, and nothing else."""

from helmdeck_core import ContinuationMergerSpec, Merged, hookimpl


class Overlap:
    """``merge`` for whole texts; ``stream`` for chunks, which holds the continuation back until its end."""

    def merge(self, answer, more, *, is_truncated=False):
        size = next((n for n in range(min(len(answer), len(more)), 0, -1) if answer.endswith(more[:n])), 0)
        return Merged(answer + more[size:], more[size:], dropped=size, kinds=("overlap",) if size else ())

    def alternatives(self, answer, more):
        return (self.merge(answer, more), Merged(answer + more, more))

    def stream(self, answer):
        return HeldBack(self, answer)


class HeldBack:
    def __init__(self, merger, answer):
        self.merger, self.answer, self.chunks = merger, answer, []

    def feed(self, chunk):
        self.chunks.append(chunk)
        return ""

    def finish(self, *, is_truncated=False):
        return self.merger.merge(self.answer, "".join(self.chunks)).added


@hookimpl
def helmdeck_continuation_mergers():
    """The merger with the lowest order is used; the order of the built-in one is 0."""
    return [ContinuationMergerSpec(name="overlap", open=lambda announcements: Overlap(), order=-1)]
