"""A reader of chat input: strings, and conversations as ``(role, text)`` pairs."""

from helmdeck_core import ChatInputReader, Message, Role, TextPart, hookimpl


def messages(value):
    """Return the messages of a string or a conversation; errors name the place of the mistake."""
    pairs = [("user", value)] if isinstance(value, str) else value
    if not pairs:
        raise ValueError("the conversation is empty")
    return tuple(Message(Role(role), (TextPart(text),)) for role, text in pairs)


def images(value):
    """Return the parts of images, of which there may be none; this reader supports no others."""
    if value:
        raise TypeError("images are not supported")
    return ()


@hookimpl
def helmdeck_chat_inputs():
    """The reader with the lowest order is used; the order of the built-in one is 0."""
    return [ChatInputReader(name="pairs", messages=messages, images=images, order=-1)]
