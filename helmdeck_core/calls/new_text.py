"""Finds what is new in texts that arrive in chunks, of which a later one may repeat an earlier one."""

from __future__ import annotations


class NewText:
    """Several streamed texts for one reader: each is a paragraph of its own, and a repeated text is passed on once."""

    def __init__(self) -> None:
        self._former: list[str] = []
        self._chunks: list[str] = []
        self._held = ""
        self._repeated: list[str] = []

    @property
    def is_first(self) -> bool:
        """Whether no other text came before, so that all of this one is new."""
        return not self._former

    def begin(self) -> None:
        """Begin the next text."""
        if self._chunks:
            self._former.append("".join(self._chunks))
            self._chunks.clear()
        self._held, self._repeated = "", list(self._former)

    def feed(self, chunk: str) -> str:
        """Return the part of the next chunk that is new; a chunk is held back while it repeats a former text."""
        if not self._former:
            self._chunks.append(chunk)
            return chunk
        if self._repeated:
            self._held += chunk
            longest = max(self._repeated, key=len)
            self._repeated = [text for text in self._repeated if text.startswith(self._held)]
            if self._repeated:
                return ""
            # The whole of a former text and more continues it; anything else is another paragraph.
            is_continued = longest == self._former[-1] and self._held.startswith(longest)
            chunk = self._held[len(longest) :] if is_continued else f"\n\n{self._held}"
            self._chunks.append(self._held)
        else:
            self._chunks.append(chunk)
        return chunk
