"""Filters that stand in the address: plain links that set or clear one and keep the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, QuerySet


class Choice(NamedTuple):
    """One value of a filter as a link; the link of the chosen value takes the filter off."""

    label: str
    number: int
    link: str
    chosen: bool


def counted(rows: QuerySet, field: str) -> list[tuple[str, int]]:
    """(value, number of rows) in the order of the values."""
    return list(rows.order_by(field).values_list(field).annotate(Count("pk")))


def address(chosen: Mapping[str, str]) -> str:
    """The filters that are set as a query string, without `?`."""
    return urlencode({name: value for name, value in chosen.items() if value})


def choices(
    name: str, values: Iterable[tuple[str, int]], chosen: Mapping[str, str], labels: Mapping[str, str] | None = None
) -> list[Choice]:
    made = []
    for value, count in values:
        value = str(value)
        is_chosen = chosen[name] == value
        link = "?" + address({**chosen, name: "" if is_chosen else value})
        made.append(Choice((labels or {}).get(value, value), count, link, is_chosen))
    return made
