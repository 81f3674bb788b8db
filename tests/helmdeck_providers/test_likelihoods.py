"""Log-probabilities of tokens and likelihoods of texts: what is requested, and what is read."""

import json

import pytest

from helmdeck_core import (
    LIKELIHOOD_INCOMPLETE,
    CallFailed,
    ChatRequest,
    InvalidRequest,
    Likelihood,
    Message,
    Role,
    TextPart,
)
from helmdeck_testing import completion, make_deck

PROMPTS = ("Tool a: reads\n", "Tool b: writes\n")
TEXT = 'write it"'
QUESTION = (Message(Role.USER, (TextPart("which one?"),)),)


def asking(**fields):
    return ChatRequest(model="mine/m", messages=QUESTION, max_tokens=1, **fields)


def ask(server, kind, request, **options):
    config = {"providers": {"mine": {"kind": kind, "base_url": server.base_url, "options": options}}}
    with make_deck(config=config) as deck:
        return deck.complete(request, allows_empty=True)


def generated(*logprobs):
    return {"content": [{"token": token, "logprob": value} for token, value in logprobs]}


def llama_server(*choices, tokens=(17, 4)):
    """Answers of llama.cpp's server: tokens of a text, or the choices."""

    def reply(body):
        if "content" in body:
            return {"tokens": list(tokens)} if tokens is not None else {}
        return {"choices": [{"index": at, "text": TEXT, "logprobs": each} for at, each in enumerate(choices)]}

    return reply


def test_llama_cpp_may_write_the_tokens_of_the_text_alone_after_each_prompt(chat_server):
    chosen = [generated(("write", -2.0), (' it"', -1.5), ("", -9.0)), generated(("write", -8.0), (' it"', -1.0))]
    server = chat_server(llama_server(*chosen))
    response = ask(server, "llamacpp", asking(likelihood=Likelihood(prompts=PROMPTS, text=TEXT)))
    assert response.likelihoods == (-3.5, -9.0)
    tokenize, complete = server.requests
    assert tokenize.body == {"content": TEXT, "with_pieces": True}
    assert "/v1" not in tokenize.path
    assert complete.path.endswith("/v1/completions")
    assert complete.body["prompt"] == list(PROMPTS)
    assert complete.body["grammar"] == "root ::= <[17]> <[4]>"


def test_text_with_tokens_that_are_parts_of_a_character_has_no_likelihood(chat_server):
    # llama.cpp's server reports the last of such tokens alone, so the sum would say little about the text.
    pieces = [{"id": 7, "piece": "ok "}, {"id": 8, "piece": [229, 184]}, {"id": 9, "piece": [131]}]
    server = chat_server(llama_server(generated(("x", -1.0)), tokens=pieces))
    with pytest.raises(InvalidRequest) as caught:
        ask(server, "llamacpp", asking(likelihood=Likelihood(prompts=PROMPTS[:1], text="ok 布")))
    assert caught.value.sub_cause == LIKELIHOOD_INCOMPLETE
    assert len(server.requests) == 1


def test_letters_outside_ascii_may_be_tokens(chat_server):
    pieces = [{"id": 7, "piece": "caf"}, {"id": 5, "piece": "é"}]
    server = chat_server(llama_server(generated(("x", -1.0)), tokens=pieces))
    ask(server, "llamacpp", asking(likelihood=Likelihood(prompts=PROMPTS[:1], text="café")))
    assert server.requests[1].body["grammar"] == "root ::= <[7]> <[5]>"


def test_tokens_without_pieces_are_enough_for_ascii_only(chat_server):
    server = chat_server(llama_server(generated(("x", -1.0))))
    with pytest.raises(InvalidRequest, match="no tokens of a text"):
        ask(server, "llamacpp", asking(likelihood=Likelihood(prompts=PROMPTS[:1], text="布")))
    assert len(server.requests) == 1


def test_choices_are_read_in_the_order_of_the_prompts(chat_server):
    def reply(body):
        if "content" in body:
            return {"tokens": [1]}
        found = [{"index": 1, "logprobs": generated(("x", -1.0))}, {"index": 0, "logprobs": generated(("x", -2.0))}]
        return {"choices": found}

    response = ask(chat_server(reply), "llamacpp", asking(likelihood=Likelihood(prompts=PROMPTS, text="x")))
    assert response.likelihoods == (-2.0, -1.0)


def test_vllm_returns_log_probabilities_of_the_prompt(chat_server):
    def echoed(prompt, *values):
        tokens = [prompt[:4], prompt[4:], "write", ' it"', "\n"]
        return {"tokens": tokens, "token_logprobs": [None, -5.0, *values, -0.1]}

    found = [{"index": at, "logprobs": echoed(p, -2.0, -at)} for at, p in enumerate(PROMPTS)]
    server = chat_server(lambda body: {"choices": found, "usage": {"prompt_tokens": 12, "completion_tokens": 2}})
    response = ask(server, "vllm", asking(likelihood=Likelihood(prompts=PROMPTS, text=TEXT)))
    assert response.likelihoods == (-2.0, -3.0)
    assert response.usage.input_tokens == 12
    (request,) = server.requests
    assert request.body["prompt"] == [prompt + TEXT for prompt in PROMPTS]
    assert request.body["echo"]


@pytest.mark.parametrize(
    "choices",
    [(), (generated(("x", -1.0)),), (generated(), generated()), (None, None), ({"content": "x"}, {"tokens": [1]})],
    ids=repr,
)
def test_response_without_all_likelihoods_has_none(chat_server, choices):
    response = ask(
        chat_server(llama_server(*choices)), "llamacpp", asking(likelihood=Likelihood(prompts=PROMPTS, text=TEXT))
    )
    assert response.likelihoods == ()


def test_server_without_tokens_is_not_that_of_llama_cpp(chat_server):
    server = chat_server(llama_server(tokens=None))
    with pytest.raises(InvalidRequest, match="set the option likelihoods to none"):
        ask(server, "llamacpp", asking(likelihood=Likelihood(prompts=PROMPTS, text=TEXT)))


def test_error_of_the_server_is_raised(chat_server):
    server = chat_server(lambda body: {"error": {"message": "out of memory", "code": 500}})
    with pytest.raises(CallFailed):
        ask(server, "vllm", asking(likelihood=Likelihood(prompts=PROMPTS, text=TEXT)))


def test_other_servers_get_the_question_of_the_messages(chat_server):
    server = chat_server(lambda body: completion("A"))
    response = ask(server, "openai-compatible", asking(likelihood=Likelihood(prompts=PROMPTS, text=TEXT)))
    assert (response.text, response.likelihoods) == ("A", ())
    assert "prompt" not in server.requests[0].body


def with_likely_tokens(body):
    answer = completion("A")
    listed = [{"token": "A", "logprob": -0.2}, {"token": " b", "logprob": -2.0}, {"token": "C", "logprob": "much"}]
    answer["choices"][0]["logprobs"] = {"content": [{"token": "A", "logprob": -0.2, "top_logprobs": listed}]}
    return answer


def test_log_probabilities_of_likely_tokens_are_requested_and_read(chat_server):
    server = chat_server(with_likely_tokens)
    response = ask(server, "openai-compatible", asking(logprobs=7))
    assert [dict(each) for each in response.token_logprobs] == [{"A": -0.2, " b": -2.0}]
    assert (server.requests[0].body["logprobs"], server.requests[0].body["top_logprobs"]) == (True, 7)


def test_log_probabilities_are_not_requested_unasked_or_where_the_server_has_none(chat_server):
    server = chat_server(with_likely_tokens)
    ask(server, "openai-compatible", asking())
    ask(server, "openai-compatible", asking(logprobs=7), has_logprobs=False)
    assert not any("logprobs" in json.dumps(request.body) for request in server.requests)
