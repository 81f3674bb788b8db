"""A kind of answer types: classes with a ``schema`` and a ``from_json``."""

from helmdeck_core import AnswerFormat, AnswerType, WrongShape, hookimpl


class Celsius:
    """A temperature; stands for the classes of an application."""

    schema = {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}

    def __init__(self, celsius):
        self.celsius = celsius

    @classmethod
    def from_json(cls, value):
        """Return the value; ``WrongShape`` rejects an answer, and the retry repeats its message to the model."""
        if not isinstance(celsius := value.get("celsius"), (int, float)) or celsius < -273.15:
            raise WrongShape("$.celsius", "must be a number of at least -273.15")
        return cls(celsius)


@hookimpl
def helmdeck_answer_types():
    """The lowest ``order`` is tried first; the built-in kinds start at 10."""
    return [AnswerType(name="acme", description="classes with from_json", format_of=format_of)]


def format_of(type):
    """Return how answers of a type are requested and read; ``None`` for a type of another kind."""
    if not hasattr(type, "from_json"):
        return None
    return AnswerFormat(schema=type.schema, decode_as=dict, parse=type.from_json)
