"""Log-probabilities of given texts under a Llama-shaped GGUF model, computed in numpy.

A llama.cpp server gives the same figures through a grammar; here the keys and values of a tool's description are computed once and shared
by all requests, which makes hundreds of requests affordable.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Cache = list[tuple[Array, ...]]

KEPT = 250
"""Prefixes whose keys and values are kept; each takes one to two megabytes."""


class GgufModel:
    """A model of the architecture ``llama``.

    :param tokenize: returns the tokens of a text.
    """

    def __init__(self, path: Path, tokenize: Callable[[str], list[int]]) -> None:
        gguf: Any = importlib.import_module("gguf")
        dequantize = importlib.import_module("gguf.quants").dequantize
        reader = gguf.GGUFReader(str(path))
        fields = {name: field.contents() for name, field in reader.fields.items() if name.startswith("llama.")}
        self._heads = int(fields["llama.attention.head_count"])
        self._kv_heads = int(fields["llama.attention.head_count_kv"])
        self._layers = int(fields["llama.block_count"])
        self._eps = float(fields["llama.attention.layer_norm_rms_epsilon"])
        self._base = float(fields["llama.rope.freq_base"])
        self._size = int(fields["llama.embedding_length"]) // self._heads
        self._weights = {
            each.name.removesuffix(".weight"): dequantize(each.data, each.tensor_type).astype(np.float32)
            for each in reader.tensors
        }
        self._tokenize = tokenize
        self._caches: dict[str, tuple[Cache, int, Array]] = {}
        self.tokens = 0

    def likelihoods(self, prefixes: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return the log-probability of each text after its prefix."""
        segments = [self._tokenize(text) for text in texts]
        prepared = [self._prepared(prefix) for prefix in prefixes]
        hidden = self._forward(segments, [(cache, length) for cache, length, _ in prepared])
        found = []
        for tokens, states, (_, _, last) in zip(segments, hidden, prepared, strict=True):
            logits = np.concatenate([last, states[:-1]]) @ self._weights.get("output", self._weights["token_embd"]).T
            highest = logits.max(axis=1)
            totals = highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))
            found.append(float((logits[np.arange(len(tokens)), tokens] - totals).sum()))
        return found

    def _prepared(self, prefix: str) -> tuple[Cache, int, Array]:
        """The keys and values of a prefix, its length, and its last hidden state."""
        if prefix not in self._caches:
            if len(self._caches) >= KEPT:
                self._caches.pop(next(iter(self._caches)))
            # Examples before a tool end with an empty line; their keys and values are computed once for all tools.
            shared, _, rest = prefix.rpartition("\n\n")
            empty: tuple[Array, ...] = (np.zeros((0, self._kv_heads, self._size), np.float32),) * 2
            before: tuple[Cache, int] = (
                self._prepared(f"{shared}\n\n")[:2] if rest and shared else ([empty] * self._layers, 0)
            )
            tokens = self._tokenize(rest or prefix)
            cache: Cache = []
            states = self._forward([tokens], [before], keep=cache)[0]
            self._caches[prefix] = cache, before[1] + len(tokens), states[-1:]
        return self._caches[prefix]

    def _forward(
        self, segments: Sequence[Sequence[int]], caches: Sequence[tuple[Cache, int]], keep: Cache | None = None
    ) -> list[Array]:
        """Return the last hidden states of every segment, each after its own cache."""
        weights, lengths = self._weights, [len(segment) for segment in segments]
        self.tokens += sum(lengths)
        ends = np.cumsum(lengths)
        x = weights["token_embd"][np.concatenate([np.asarray(segment) for segment in segments])]
        places = np.concatenate([np.arange(n) + start for n, (_, start) in zip(lengths, caches, strict=True)])
        for layer in range(self._layers):
            name = f"blk.{layer}."
            h = self._norm(x, weights[name + "attn_norm"])
            q = self._rotate((h @ weights[name + "attn_q"].T).reshape(len(h), self._heads, -1), places)
            k = self._rotate((h @ weights[name + "attn_k"].T).reshape(len(h), self._kv_heads, -1), places)
            v = (h @ weights[name + "attn_v"].T).reshape(len(h), self._kv_heads, -1)
            attended = np.empty_like(q)
            for end, n, (cache, _) in zip(ends, lengths, caches, strict=True):
                part = slice(end - n, end)
                keys = np.concatenate([cache[layer][0], k[part]])
                values = np.concatenate([cache[layer][1], v[part]])
                attended[part] = self._attend(q[part], keys, values)
                if keep is not None:
                    keep.append((keys, values))
            x = x + attended.reshape(len(h), -1) @ weights[name + "attn_output"].T
            h = self._norm(x, weights[name + "ffn_norm"])
            gate = h @ weights[name + "ffn_gate"].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ weights[name + "ffn_up"].T)) @ weights[name + "ffn_down"].T
        x = self._norm(x, weights["output_norm"])
        return [x[end - n : end] for end, n in zip(ends, lengths, strict=True)]

    def _norm(self, x: Array, weight: Array) -> Array:
        normed: Array = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self._eps) * weight
        return normed

    def _rotate(self, x: Array, places: Array) -> Array:
        half = self._size // 2
        angles = places[:, None] / self._base ** (np.arange(half, dtype=np.float32) / half)
        cos, sin = (f(angles).astype(np.float32)[:, None, :] for f in (np.cos, np.sin))
        even, odd = x[..., 0::2], x[..., 1::2]
        out = np.empty_like(x)
        out[..., 0::2], out[..., 1::2] = even * cos - odd * sin, even * sin + odd * cos
        return out

    def _attend(self, q: Array, keys: Array, values: Array) -> Array:
        group = self._heads // self._kv_heads
        keys, values = np.repeat(keys, group, axis=1), np.repeat(values, group, axis=1)
        scores = np.einsum("qhd,khd->hqk", q, keys) / np.sqrt(self._size)
        after = np.arange(len(keys))[None, :] > np.arange(len(q))[:, None] + len(keys) - len(q)
        scores = np.where(after[None], -np.inf, scores)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out: Array = np.einsum("hqk,khd->qhd", scores / scores.sum(axis=-1, keepdims=True), values).astype(np.float32)
        return out
