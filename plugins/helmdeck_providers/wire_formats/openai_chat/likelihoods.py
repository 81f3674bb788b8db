"""How likely a model is to write a text: requests to OpenAI's older endpoint for completions, which local servers extend.

llama.cpp returns log-probabilities of generated tokens only, so a grammar allows nothing but the tokens of the text, which the
server returns first: a grammar of characters would let the model spell the text in other tokens, which are less likely by
amounts that say nothing about the text. vLLM returns the log-probabilities of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    LIKELIHOOD_INCOMPLETE,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    InvalidRequest,
    Likelihood,
    ModelId,
)
from helmdeck_providers.http.bodies import rows, table
from helmdeck_providers.http.rendering import Rendered, encode_payload
from helmdeck_providers.http.response_reader import ReaderContext
from helmdeck_providers.http.wire_format import Preliminary
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer

PATH = "/completions"


def render_likelihood(request: ChatRequest, likelihood: Likelihood, mode: str) -> Rendered:
    """Write the request.

    :param mode: ``grammar`` or ``echo``.
    """
    payload: dict[str, Any] = {"model": ModelId.parse(request.model).name, "temperature": 0}
    if mode == "grammar":
        # A token has at least one byte. ``with_tokens`` has added the grammar.
        payload |= {"prompt": list(likelihood.prompts), "max_tokens": len(likelihood.text.encode()) + 1, "logprobs": 1}
    else:
        payload |= {"prompt": [f"{prompt}{likelihood.text}" for prompt in likelihood.prompts], "max_tokens": 1}
        payload |= {"echo": True, "logprobs": 1}
    return Rendered(encode_payload(payload, request.extra), (), request.max_tokens, "")


def _tokenize_body(request: ChatRequest) -> bytes | None:
    if request.likelihood is None:
        return None
    return msgspec.json.encode({"content": request.likelihood.text, "with_pieces": True})


def with_tokens(request: ChatRequest, answer: object) -> ChatRequest:
    """Return the request with a grammar that allows nothing but the tokens of its text.

    :raises InvalidRequest: the server returned no tokens, or some of them are parts of a character.
    """
    is_ascii = request.likelihood is None or request.likelihood.text.isascii()
    pieces = list(_pieces(table(answer).get("tokens"), is_ascii=is_ascii))
    if not pieces or None in pieces:
        raise InvalidRequest(
            "the server returned no tokens of a text",
            sub_cause="likelihood_unsupported",
            detail="set the option likelihoods to none if the server is not llama.cpp's",
        )
    whole = [number for number, piece in filter(None, pieces) if _is_text(piece)]
    if len(whole) < len(pieces):
        # llama.cpp's server reports the last token of such a character alone, and aborts if a grammar names another one.
        raise InvalidRequest(
            "the server cannot report the likelihood of a text whose characters have several tokens",
            sub_cause=LIKELIHOOD_INCOMPLETE,
        )
    grammar = f"root ::= {' '.join(f'<[{number}]>' for number in whole)}"
    return attrs.evolve(request, extra={**request.extra, "grammar": grammar})


def _pieces(tokens: object, *, is_ascii: bool) -> Iterator[tuple[int, bytes] | None]:
    """Id and bytes of each token; ``None`` for one that cannot be read. A server without pieces is enough for ASCII."""
    for token in tokens if isinstance(tokens, list) else ():
        match token:
            case {"id": int(number), "piece": str(piece)}:
                yield number, piece.encode()
            case {"id": int(number), "piece": list(piece)} if all(each in range(256) for each in piece):
                yield number, bytes(piece)
            case int(number) if is_ascii:
                yield number, b"x"
            case _:
                yield None


def _is_text(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


# The path is that of the server, not of its API of OpenAI's form.
TOKENS = Preliminary(path="/../tokenize", body=_tokenize_body, apply=with_tokens)
"""Asks llama.cpp for the tokens of a text."""


class LikelihoodAnswer(ChatAnswer):
    """A response with the log-probability of the text after each prompt.

    :param mode: ``grammar`` or ``echo``.
    """

    def __init__(self, context: ReaderContext, likelihood: Likelihood, mode: str) -> None:
        super().__init__(context)
        self._likelihood = likelihood
        self._mode = mode
        self._values: tuple[float, ...] = ()

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Read the response; without log-probabilities, or with other ones than requested, it has no likelihoods."""
        yield from super().feed({"error": body["error"]} if isinstance(body, dict) and body.get("error") else {})
        self.is_done, self._raw = True, "stop"
        answer = table(body)
        self._usage = answer.get("usage")
        choices = sorted(rows(answer.get("choices")), key=lambda each: each.get("index") or 0)
        values = [self._value(place, choice) for place, choice in enumerate(choices)]
        if len(values) == len(self._likelihood.prompts):
            self._values = tuple(value for value in values if value is not None)

    def _value(self, place: int, choice: dict[str, Any]) -> float | None:
        """The log-probability of the text of one choice; ``None`` if the choice has another text."""
        tokens = _tokens(table(choice.get("logprobs")))
        if self._mode == "grammar":
            # The token after the text is that of the end.
            return sum(value for token, value in tokens if token and value is not None) if tokens else None
        prompt, text = self._likelihood.prompts[place], self._likelihood.text
        if not tokens or place >= len(self._likelihood.prompts):
            return None
        offsets = [0]
        for token, _ in tokens:
            offsets.append(offsets[-1] + len(token))
        inside = [
            value
            for (start, end), (_, value) in zip(pairwise(offsets), tokens, strict=True)
            if end > len(prompt) and start < len(prompt) + len(text)
        ]
        return None if None in inside or not inside else sum(value for value in inside if value is not None)

    def finish(self) -> ChatResponse:
        """Return the response; its text is empty."""
        whole = self._values if len(self._values) == len(self._likelihood.prompts) else ()
        return attrs.evolve(super().finish(), likelihoods=whole)


def _tokens(logprobs: dict[str, Any]) -> list[tuple[str, float | None]]:
    """Tokens and log-probabilities, in the older form of OpenAI's API or in the newer one, which llama.cpp uses for both."""
    if content := rows(logprobs.get("content")):
        return [(str(each.get("token", "")), _number(each.get("logprob"))) for each in content]
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not (isinstance(tokens, list) and isinstance(values, list) and len(tokens) == len(values)):
        return []
    return [(str(token), _number(value)) for token, value in zip(tokens, values, strict=True)]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
