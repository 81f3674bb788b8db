"""A minimal chooser: one token of the model, the number of a candidate, decides between the ranker's first two."""

from helmdeck_core import ChatRequest, Choice, Chooser, Message, Role, TextPart, hookimpl


async def choose(task):
    """Choose one of two entries; the ranker's first one unless the model answers with 2."""
    entries = [task.catalog.entries[index] for index, _ in task.ranking.leading(2)]
    if not entries:
        return Choice(is_sure=False, reason="no entry matches")
    if task.ranking.is_confident() or len(entries) < 2:
        return Choice(entry_id=entries[0].id, reason="one entry stands out")
    listed = "\n".join(f"{number}. {entry.description}" for number, entry in enumerate(entries, 1))
    question = f"{listed}\n\nWhich of them does this need? {task.request}\nAnswer with 1 or 2."
    message = Message(Role.USER, (TextPart(question),))
    answer = await task.send(ChatRequest(model="", messages=(message,), max_tokens=1))
    second = answer.text.strip() == "2"
    return Choice(entry_id=entries[second].id, reason="the model chose between two")


@hookimpl
def helmdeck_choosers():
    """Provide ``chooser = "one-of-two"``."""
    return [Chooser(name="one-of-two", choose=choose, summary="asks for one of two entries")]
