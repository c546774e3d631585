"""Vectors of texts, kept: what an encoder gave once is read from the table the next time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from evaluation.benchmarks import BenchmarkSpec
from evaluation.models import EncodedText
from evaluation.protocols.base import Evaluator
from evaluation.protocols.encoder import Encoder

_AT_ONCE = 500  # SQLite takes no more than 999 parameters in one statement


class Kept:
    """An encoder that keeps its vectors in the database. Of a text only the sha256 is kept."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def missing(self) -> str:
        return self.encoder.missing

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        by_hash = {hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(): text for text in texts}
        found = self._stored(list(by_hash))
        new = [key for key in by_hash if key not in found]
        if new:
            vectors = self.encoder([by_hash[key] for key in new]).astype("<f4")
            found.update(zip(new, vectors, strict=True))
            rows = [EncodedText(encoder=self.name, sha256=key, vector=found[key].tobytes()) for key in new]
            # two processes may encode one text at once, to the same vector
            EncodedText.objects.bulk_create(rows, batch_size=_AT_ONCE // 2, ignore_conflicts=True)
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        return np.array([found[key] for key in keys], dtype=np.float32)

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        found: dict[bytes, np.ndarray] = {}
        for start in range(0, len(keys), _AT_ONCE):
            rows = EncodedText.objects.filter(encoder=self.name, sha256__in=keys[start : start + _AT_ONCE])
            for key, vector in rows.values_list("sha256", "vector"):
                found[bytes(key)] = np.frombuffer(vector, "<f4")
        return found


def on_demand(spec: BenchmarkSpec) -> list[Evaluator]:
    """The benchmark's evaluators on demand that can be applied here, with kept vectors; those that cannot say why in
    `missing` and are left out.
    """
    return [own.using(Kept(own.encoder)) for own in spec.optional_evaluators if not own.missing]
