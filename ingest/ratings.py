"""A ratings file put on a run: checked against its items, then all or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from evaluation.models import HumanRating, Item, Run
from evaluation.protocols.human_ratings import RATED_CATEGORY
from ingest.readers.human_ratings import Problem, RatingsError, RatingsFile


def check(file: RatingsFile, run: Run) -> dict[str, int]:
    """The keys of the rated items, by key. Raises RatingsError for an item that the run's split has not, or rates not."""
    keys = {rated.item for rated in file.lines}
    known = dict(Item.objects.filter(splits=run.split, key__in=keys).values_list("key", "pk"))
    rated_texts = set(
        Item.objects.filter(
            pk__in=known.values(), facets__dimension="category", facets__name=RATED_CATEGORY
        ).values_list("key", flat=True)
    )
    problems: list[Problem] = []
    for rated in file.lines:
        if rated.item not in known:
            problems.append((rated.line, "item", f"is {rated.item!r}, no question of {run.split}"))
        elif rated.item not in rated_texts:
            problems.append((rated.line, "item", f"is {rated.item!r}, no question of the category {RATED_CATEGORY}"))
    if problems:
        raise RatingsError(file.name, problems)
    return known


def store(file: RatingsFile, run: Run) -> int:
    """The file's ratings in place of all earlier ones of the run; how many there were. Raises RatingsError (see `check`)."""
    known = check(file, run)
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=run.pk)
        earlier, _ = run.human_ratings.all().delete()
        HumanRating.objects.bulk_create(_rows(file, run, known), batch_size=500)
    return earlier


def _rows(file: RatingsFile, run: Run, known: dict[str, int]) -> Iterable[HumanRating]:
    return [
        HumanRating(
            run=run,
            item_id=known[rated.item],
            rater=rated.rater,
            file=file.name[:255],
            sha256=file.sha256,
            **rated.rating._asdict(),
        )
        for rated in file.lines
    ]
