"""What a model says about each candidate, one function per way to ask.

Every function takes a llama.cpp server and the choices, and yields one list of scores per choice, in the order of the candidates: log
probabilities, so higher is better. Only differences within one list mean anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.choice.likelihood import GgufModel
from benchmarks.choice.requests import Choice
from benchmarks.weak_models.peer_process import PeerProcess

LABELS = "ABCDEFGH"
FLOOR = -20.0
"""Log-probability of a token that is not among those that the server lists."""

LISTED = 40
"""Tokens whose probabilities are requested."""

Method = Callable[["Server", Choice], list[float]]


class Server:
    """A llama.cpp server: completions of plain texts, all prompts of a list at once.

    :ivar template: wraps a question for the model; ``{}`` for a model without a chat template.
    :ivar gguf: the file of the same model, for methods that need the likelihood of a text.
    :param libraries: the folder of llama.cpp's shared libraries, for the peer that reads the file itself.
    """

    def __init__(
        self, base_url: str, template: str = "{}", gguf: Path | None = None, libraries: Path | None = None
    ) -> None:
        self._client = httpx.Client(base_url=base_url, timeout=600)
        self.gguf = gguf
        self._model: GgufModel | None = None
        self._libraries = libraries
        self._peer: PeerProcess | None = None
        self.template = template
        self.calls = 0
        self._priors: dict[tuple[str, str], float] = {}

    @property
    def peer(self) -> PeerProcess:
        """typed-gguf, in a process of its own."""
        if self._peer is None:
            assert self.gguf is not None
            assert self._libraries is not None
            self._peer = PeerProcess("typed_gguf", str(self.gguf), str(self._libraries))
        return self._peer

    def ask(self, question: str, start: str = "") -> str:
        """The prompt of a question, and the start of its answer."""
        return self.template.format(question) + start

    def _complete(self, prompts: Sequence[str], **fields: Any) -> list[list[Mapping[str, Any]]]:
        self.calls += len(prompts)
        payload = {"prompt": list(prompts), "temperature": 0, "cache_prompt": True, **fields}
        answers = self._client.post("/completion", json=payload).raise_for_status().json()
        answers = answers if isinstance(answers, list) else [answers]
        return [each.get("completion_probabilities") or [] for each in sorted(answers, key=lambda one: one["index"])]

    def next_tokens(self, prompts: Sequence[str]) -> list[dict[str, float]]:
        """The log-probabilities of the likely next tokens of each prompt; spaces before a token are ignored."""
        found: list[dict[str, float]] = []
        for tokens in self._complete(prompts, n_predict=1, n_probs=LISTED):
            listed: dict[str, float] = {}
            for each in tokens[0]["top_logprobs"] if tokens else ():
                key = each["token"].strip().lower()
                listed[key] = math.log(math.exp(listed.get(key, -math.inf)) + math.exp(each["logprob"]))
            found.append(listed)
        return found

    def tokenize(self, text: str) -> list[int]:
        """The tokens of a text."""
        tokens: list[int] = self._client.post("/tokenize", json={"content": text}).raise_for_status().json()["tokens"]
        return tokens

    def likelihoods(self, prompts: Sequence[str], texts: Sequence[str]) -> list[float]:
        """The log-probability of each text after its prompt."""
        assert self.gguf is not None
        if self._model is None:
            self._model = GgufModel(self.gguf, self.tokenize)
        return self._model.likelihoods(prompts, texts)

    def prior(self, prompt: str, text: str) -> float:
        """The likelihood of a text after a prompt that is the same for all requests."""
        if (prompt, text) not in self._priors:
            self._priors[prompt, text] = self.likelihoods([prompt], [text])[0]
        return self._priors[prompt, text]


# -- labels ------------------------------------------------------------------------------------------------------

EXAMPLES = (
    ("Will it rain in Oslo tomorrow?", ("stocks: prices of shares", "weather: forecast for a city"), "B"),
    ("Turn this article into French.", ("translate: translates texts", "recipes: finds dishes"), "A"),
    ("Find me a cheap flight to Rome.", ("poems: writes poems", "maps: shows maps", "flights: compares flights"), "C"),
)


def _listed(request: str, texts: Sequence[str]) -> str:
    tools = "\n".join(f"{label}. {text}" for label, text in zip(LABELS, texts, strict=False))
    return f"Tools:\n{tools}\nRequest: {request}"


def _label_prompt(server: Server, request: str, texts: Sequence[str], examples: str = "") -> str:
    question = f"{examples}{_listed(request, texts)}\nWhich tool does the request need? Answer with its letter."
    return server.ask(question, "Answer:" if server.template == "{}" else "")


def _by_label(listed: Mapping[str, float], count: int) -> list[float]:
    return [listed.get(label.lower(), FLOOR) for label in LABELS[:count]]


def _both_orders(server: Server, choice: Choice, examples: str = "") -> list[float]:
    backwards = choice.texts[::-1]
    prompts = [_label_prompt(server, choice.request, texts, examples) for texts in (choice.texts, backwards)]
    first, second = (_by_label(each, len(backwards)) for each in server.next_tokens(prompts))
    return [(one + other) / 2 for one, other in zip(first, second[::-1], strict=True)]


def labels(server: Server, choice: Choice) -> list[float]:
    """One-token labels, averaged over two orders."""
    return _both_orders(server, choice)


def labels_with_examples(server: Server, choice: Choice) -> list[float]:
    """The same after three solved examples."""
    shown = "".join(f"{_listed(request, texts)}\nAnswer: {label}\n\n" for request, texts, label in EXAMPLES)
    return _both_orders(server, choice, shown)


def pairwise(server: Server, choice: Choice) -> list[float]:
    """One-token labels for the ranker's first two candidates alone; the others keep their place behind."""
    pair = choice.texts[:2]
    if len(pair) < 2:
        return [0.0] * len(choice.texts)
    prompts = [_label_prompt(server, choice.request, texts) for texts in (pair, pair[::-1])]
    one, other = (_by_label(each, 2) for each in server.next_tokens(prompts))
    return [(one[0] + other[1]) / 2, (one[1] + other[0]) / 2, *[FLOOR] * (len(choice.texts) - 2)]


# -- one candidate at a time -------------------------------------------------------------------------------------


def yes_or_no(server: Server, choice: Choice) -> list[float]:
    """Whether the tool does what the request says: log-odds of yes."""
    prompts = [
        server.ask(f"Tool {text}\nRequest: {choice.request}\nCan this tool do it? Answer yes or no.", "Answer:")
        for text in choice.texts
    ]
    return [each.get("yes", FLOOR) - each.get("no", FLOOR) for each in server.next_tokens(prompts)]


def request_likelihood(server: Server, choice: Choice) -> list[float]:
    """The likelihood of the request after a description of the tool (unsupervised passage reranking)."""
    prompts = [f'Tool {text}\nA user who needs this tool writes: "' for text in choice.texts]
    return server.likelihoods(prompts, [choice.request.strip() + '"'] * len(prompts))


REQUESTS = (
    ("weather: forecast for a city", "Will it rain in Oslo tomorrow?"),
    ("translate: translates texts", "Turn this article into French."),
    ("flights: compares prices of flights", "Find me a cheap way to get to Rome by air."),
)


def request_likelihood_with_examples(server: Server, choice: Choice) -> list[float]:
    """The likelihood of the request after the tool, and before both three tools with a request for each."""
    shown = "".join(f'Tool {tool}\nA user who needs this tool writes: "{request}"\n\n' for tool, request in REQUESTS)
    prompts = [f'{shown}Tool {text}\nA user who needs this tool writes: "' for text in choice.texts]
    return server.likelihoods(prompts, [choice.request.strip() + '"'] * len(prompts))


def request_likelihood_in_chat(server: Server, choice: Choice) -> list[float]:
    """The same as a chat: the model is to write a request."""
    prompts = [server.ask(f"Write a request of a user who needs this tool.\nTool {text}") for text in choice.texts]
    return server.likelihoods(prompts, [choice.request.strip()] * len(prompts))


def name_likelihood(server: Server, choice: Choice) -> list[float]:
    """The likelihood of the tool's name after the request, less that without a request."""
    names = [f" {name}\n" for name in choice.names]
    return _above_prior(server, choice, "Request: {}\nThe tool that does this is called", names)


def description_likelihood(server: Server, choice: Choice) -> list[float]:
    """The likelihood of the tool's description after the request, less that without a request."""
    texts = [f" {text}" for text in choice.texts]
    return _above_prior(server, choice, "Request: {}\nThe tool that does this:", texts)


def _above_prior(server: Server, choice: Choice, prompt: str, texts: Sequence[str]) -> list[float]:
    """The likelihood of each text after a prompt with the request, less that after the prompt without one."""
    found = server.likelihoods([prompt.format(choice.request)] * len(texts), texts)
    return [each - server.prior(prompt.format("N/A"), text) for each, text in zip(found, texts, strict=True)]


def typed_gguf(server: Server, choice: Choice) -> list[float]:
    """The peer typed-gguf: its probabilities of the names, each shown with its description."""
    listed = {name: text.partition(": ")[2] for name, text in zip(choice.names, choice.texts, strict=True)}
    question = "Which tool does what the user asks for?"
    job = {"text": choice.request, "instructions": question, "tools": listed, "threads": 1}
    answer = server.peer.run(job)
    if "failure" in answer:
        raise SystemExit(f"typed-gguf: {answer['failure']}: {answer['message']}")
    return [math.log(max(answer["probabilities"][name], 1e-9)) for name in choice.names]


METHODS: dict[str, Method] = {
    each.__name__: each
    for each in (
        labels, labels_with_examples, pairwise, yes_or_no, request_likelihood, request_likelihood_with_examples,
        request_likelihood_in_chat,
        name_likelihood, description_likelihood, typed_gguf,
    )
}  # fmt: skip
