"""A pack without a model: ``words.count`` counts words, and writes a table to a file."""

from collections import Counter
from typing import Annotated

import msgspec

from helmdeck_core import PackContext, hookimpl
from helmdeck_runs import pack


class Counted(msgspec.Struct):
    """The output of the pack."""

    words: int
    most_frequent: list[str]
    artifacts: list[dict[str, str | int]]


@pack("words.count", open_world=False, metadata={"intent_keywords": ["count the words"]})
async def count(context: PackContext, text: str, top: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3) -> Counted:
    """Count the words of a text.

    :param text: The text.
    :param top: Words in the list of the most frequent ones.
    """
    counter = Counter(text.lower().split())
    context.progress("writing the table", 0.5)
    table = "".join(f"{word},{number}\n" for word, number in counter.most_common())
    file = context.artifacts.write("words.csv", table)
    return Counted(sum(counter.values()), [word for word, _ in counter.most_common(top)], [file.to_dict()])


@hookimpl
def helmdeck_packs():
    """Provide the pack."""
    return [count]
