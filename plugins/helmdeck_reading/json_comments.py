"""Comments in JSON-like texts, as parts of verbose patterns: one definition for all that skips or removes them."""

from __future__ import annotations

SLASH_COMMENT = r"// [^\n]*+ | /\* (?: [^*]++ | \* (?!/) )*+ \*/"

HASH_COMMENT = r"(?<! & ) \# [^\n]*+"
"""Not the number of an entity such as ``&#34;``."""

COMMENT = rf"{SLASH_COMMENT} | {HASH_COMMENT}"
