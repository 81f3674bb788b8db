"""Writes tiny Llama models as GGUF files, without a library and without a download: the same seed, the same bytes.

    python -m benchmarks.real_servers.tiny_gguf OUT.gguf [random|bigram] [SEED]

``random`` makes noise and never stops by itself; ``bigram`` knows which letter follows which in a few sentences and stops by
itself at some full stop. Both read bytes: a token below 256 is a byte, written as GPT-2 writes it.
"""

from __future__ import annotations

import itertools
import math
import random
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

MERGES = "th he in er an re on at en nd".split()
"""The loader requires some merges; they do not change the text."""
SPECIAL = ("<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SENTENCES = (
    "the model wrote a plan. the plan has a step. a step names a tool. the tool reads the page. the answer was cut. "
    "an answer goes on. the end is near. "
)

_PLAIN = {*range(33, 127), *range(161, 173), *range(174, 256)}
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_ALIGN = 32

Matrix = tuple[tuple[int, ...], array]  # type: ignore[type-arg]
Value = str | bool | int | float | Sequence[str] | array  # type: ignore[type-arg]


def vocabulary() -> list[str]:
    """Return the tokens: bytes as printable letters, merges, control tokens."""
    spare = iter(range(256, 512))
    letters = [chr(byte) if byte in _PLAIN else chr(next(spare)) for byte in range(256)]
    return [*letters, *MERGES, *SPECIAL]


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _text(value)
    if isinstance(value, int):
        return struct.pack("<II", _U32, value)
    if isinstance(value, float):
        return struct.pack("<If", _F32, value)
    kind = _I32 if isinstance(value, array) else _STRING
    head = struct.pack("<IIQ", _ARRAY, kind, len(value))
    return head + (value.tobytes() if isinstance(value, array) else b"".join(map(_text, value)))


def gguf(facts: Mapping[str, Value], tensors: Mapping[str, Matrix]) -> bytes:
    """Write metadata and float matrices; shapes are row-major."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    head += b"".join(_text(name) + _value(value) for name, value in facts.items())
    body = bytearray()
    for name, (shape, numbers) in tensors.items():
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", 0, len(body))
        body += numbers.tobytes()
        body += bytes(-len(body) % _ALIGN)
    return head + bytes(-len(head) % _ALIGN) + bytes(body)


def model(kind: str = "random", seed: int = 0) -> bytes:
    """Return a model of one of the two kinds."""
    tokens = vocabulary()
    size = len(tokens)
    width, layers, heads, inner = (128, 2, 4, 256) if kind == "random" else (320, 1, 4, 32)
    facts: dict[str, Value] = {
        "general.architecture": "llama",
        "general.name": f"tiny-{kind}-{seed}",
        "general.file_type": 0,
        "llama.context_length": 2048,
        "llama.embedding_length": width,
        "llama.block_count": layers,
        "llama.feed_forward_length": inner,
        "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": heads,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": width // heads,
        "llama.vocab_size": size,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": array("i", [1] * (size - len(SPECIAL)) + [3] * len(SPECIAL)),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in MERGES],
        "tokenizer.ggml.bos_token_id": size - 4,
        "tokenizer.ggml.eos_token_id": size - 3,
        "tokenizer.ggml.eot_token_id": size - 1,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }
    noise = random.Random(seed)

    def filled(*shape: int, writes: bool = False) -> Matrix:
        scale = math.sqrt(12 / shape[-1]) if kind == "random" else 0.0
        numbers = array("f", [(noise.random() - 0.5) * scale for _ in range(math.prod(shape))])
        if writes:
            numbers[: shape[-1]] = array("f", bytes(4 * shape[-1]))  # the bias channel stays zero
        return shape, numbers

    embedding, head = (_noise if kind == "random" else _bigrams)(tokens, width, filled)
    tensors = {
        "token_embd.weight": ((size, width), embedding),
        "output.weight": ((size, width), head),
        "output_norm.weight": _ones(width),
    }
    for number in range(layers):
        block = f"blk.{number}"
        tensors |= {f"{block}.{name}_norm.weight": _ones(width) for name in ("attn", "ffn")}
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors[f"{block}.{name}.weight"] = filled(width, width, writes=name == "attn_output")
        for name, shape in (("gate", (inner, width)), ("up", (inner, width)), ("down", (width, inner))):
            tensors[f"{block}.ffn_{name}.weight"] = filled(*shape, writes=name == "down")
    return gguf(facts, tensors)


def _ones(width: int) -> Matrix:
    return (width,), array("f", [1.0] * width)


Filled = Callable[..., Matrix]


def _noise(tokens: Sequence[str], width: int, filled: Filled) -> tuple[array, array]:  # type: ignore[type-arg]
    embedding = array("f", [number * math.sqrt(width) for number in filled(len(tokens), width)[1]])
    head = array("f", [number * 3 for number in filled(len(tokens), width)[1]])
    for number, token in enumerate(tokens):
        # A channel with the same value for every token replaces a bias, which Llama lacks: it restricts the output to
        # letters and rarely ends it.
        embedding[number * width] = 4.0
        is_letter = 32 <= number < 127 or number == 10 or token in MERGES
        head[number * width] = -0.5 if token in SPECIAL[1::2] else 0.0 if is_letter else -10.0
    return embedding, head


def _bigrams(tokens: Sequence[str], width: int, _: Filled) -> tuple[array, array]:  # type: ignore[type-arg]
    size = len(tokens)
    embedding, head = (array("f", bytes(4 * size * width)) for _ in range(2))
    end = size - 3
    for number, following in enumerate(_following(size, end)):
        embedding[number * width + number] = 1.0
        total = sum(following)
        for other, weight in enumerate(following):
            # The norm scales a one-hot state by the square root of the width.
            head[other * width + number] = math.log(weight / total) / math.sqrt(width)
    return embedding, head


def _following(size: int, end: int) -> Iterable[list[float]]:
    """Return how often each token follows each token."""
    data = (SENTENCES * 4).encode()
    rows = [[1e-4 if 32 <= other < 127 else 1e-9 for other in range(size)] for _ in range(size)]
    for before, after in itertools.pairwise(data):
        rows[before][after] += 1
    stop = rows[ord(".")]
    stop[end] += 0.3 * sum(stop)
    for start in (10, *range(size - len(SPECIAL), size)):
        rows[start][ord("t")] += 5
        rows[start][ord("a")] += 3
    return rows


if __name__ == "__main__":
    file, kind, seed = [*sys.argv[1:], *("random", "0")[len(sys.argv) - 2 :]]
    Path(file).write_bytes(model(kind, int(seed)))
