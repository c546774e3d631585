"""What sources say of a benchmark beside its rules: sizes, licences, what it is fit for. Pure data: no Django."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# How a size is counted from the loaded items of a split; the empty tuple: loaded items cannot tell.
# ("items",) all, ("scored",) those in a denominator, ("cases",), ("clusters",) what is resampled,
# ("facets", dimension) its facets, ("items", dimension, facet) and ("cases", dimension, facet) what carries a facet,
# ("gold", name) what the benchmark's counter counted when the gold file was read.
Count = tuple[str, ...]
NOT_COUNTED: Count = ()


@dataclass(frozen=True, slots=True)
class StatedSize:
    """A number that a source gives for one split of the benchmark; `note` says what it is about where that is not plain."""

    what: str
    value: int
    source: str
    split: str
    count: Count = NOT_COUNTED
    note: str = ""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of rights: `licence` empty where no source states one."""

    of: str
    licence: str
    means: str


@dataclass(frozen=True, slots=True)
class GoldCheck:
    """A point that the gold should meet: `fits` asks each gold answer; what items do not keep was `counted` when the gold
    file was read: (how many meet it, of how many), two names of the benchmark's counter, and `words` for what they are.
    """

    name: str
    fits: Callable[[Any], bool] | None = None
    counted: tuple[str, str] | None = None
    words: str = ""


@dataclass(frozen=True)
class About:
    """`sizes` are those of `release` alone. `protocol` are the rules of a run that others can be compared with."""

    release: str = ""
    sizes: tuple[StatedSize, ...] = ()
    protocol: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    fit: tuple[str, ...] = ()
    not_fit: tuple[str, ...] = ()
    gold_checks: tuple[GoldCheck, ...] = ()
