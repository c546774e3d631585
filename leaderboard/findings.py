"""Findings as a page, as JSON and as CSV: one filter, one gate, and the words of leaderboard/meanings.py."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db.models import Case, QuerySet, Value, When
from django.urls import reverse

from evaluation.querysets import sees_everything
from ingest.models import Finding, Source
from leaderboard.filters import address, choices, counted
from leaderboard.meanings import MEANINGS, Meaning
from leaderboard.runs import inside, public_text, sees_places

if TYPE_CHECKING:
    from evaluation.querysets import Person

PER_PAGE = 100
FILTERS = {"severity": "severity", "code": "code", "source": "source", "run": "run__key"}
# the gravest first
SEVERITIES = ("error", "warning", "info")
HEAD = (
    "severity",
    "code",
    "source",
    "run",
    "path",
    "line",
    "byte offset",
    "message",
    "what it means",
    "what was done",
    "what to do",
)
# A spreadsheet takes a cell that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class FindingView:
    """A finding as one person may see it: no source but for staff, no place outside the tree but for the run's owner."""

    severity: str
    code: str
    source: Source | None
    run: str | None
    path: str
    line: int | None
    offset: int | None
    message: str


def wanted(query: Mapping[str, Any]) -> dict[str, str]:
    """The filters of an address, all of them as text; what is not set is empty."""
    return {name: str(query.get(name) or "") for name in FILTERS}


def visible_findings(user: Person, chosen: Mapping[str, str], but: str = "") -> QuerySet[Finding]:
    """The findings that `user` may see and that fit every filter except `but`, the gravest first.

    A value that no finding can have fits none. Sources are for staff: for anybody else that filter fits none.
    """
    findings = Finding.objects.visible_to(user)
    given = {name: value for name, value in chosen.items() if value and name != but}
    if any("\x00" in value for value in given.values()):
        return findings.none()
    if "source" in given and not (sees_everything(user) and given["source"].isdecimal() and len(given["source"]) < 10):
        return findings.none()
    return findings.filter(**{FILTERS[name]: value for name, value in given.items()})


def in_order(findings: QuerySet[Finding]) -> QuerySet[Finding]:
    gravity = Case(*(When(severity=name, then=Value(place)) for place, name in enumerate(SEVERITIES)), default=Value(9))
    return findings.select_related("run", "source").order_by(gravity, "code", "source", "path", "line", "pk")


def view(finding: Finding, user: Person) -> FindingView:
    every = finding.run is None or sees_places(finding.run, user)  # without a run it came through the gate of staff
    return FindingView(
        finding.severity,
        finding.code,
        finding.source if sees_everything(user) else None,
        finding.run.key if finding.run else None,
        finding.path if every or inside(finding.path) else "",
        finding.line,
        finding.offset,
        finding.message if every else public_text(finding.message),
    )


@dataclass(frozen=True)
class CodeGroup:
    """Findings of one code and severity that stand together on a page."""

    severity: str
    code: str
    meaning: Meaning | None
    findings: list[FindingView]

    @property
    def has_lines(self) -> bool:
        return any(finding.line is not None for finding in self.findings)


def findings_page(user: Person, query: Mapping[str, Any]) -> dict[str, Any]:
    """The context of the page: `severity`, `code`, `source`, `run` filter, `page` pages.

    The counts beside a filter's values are what choosing them would show: they keep the other filters.
    """
    chosen = wanted(query)
    page = Paginator(in_order(visible_findings(user, chosen)), PER_PAGE).get_page(query.get("page"))
    views = [view(finding, user) for finding in page.object_list]
    severities = dict(counted(visible_findings(user, chosen, but="severity"), "severity"))
    filters = [
        ("Severity", choices("severity", [(s, severities[s]) for s in SEVERITIES if s in severities], chosen)),
        ("Code", choices("code", counted(visible_findings(user, chosen, but="code"), "code"), chosen)),
    ]
    if sees_everything(user):
        sources = counted(visible_findings(user, chosen, but="source"), "source")
        names = {str(pk): name for pk, name in Source.objects.values_list("pk", "name")}
        filters.append(("Source", choices("source", sources, chosen, names)))
    query_string = address(chosen)
    return {
        "page": page,
        "groups": [
            CodeGroup(severity, code, MEANINGS.get(code), list(found))
            for (severity, code), found in groupby(views, key=lambda one: (one.severity, one.code))
        ],
        "filters": filters,
        "chosen": chosen,
        "without_run": address({**chosen, "run": ""}),
        "query": f"&{query_string}" if query_string else "",
        "csv": reverse("findings-csv") + (f"?{query_string}" if query_string else ""),
        "csv_with_mark": reverse("findings-csv") + f"?{address({**chosen, 'bom': '1'})}",
        "json": reverse("api:findings") + (f"?{query_string}" if query_string else ""),
        "for_staff": sees_everything(user),
    }


def findings_document(user: Person, chosen: Mapping[str, str], number: int) -> dict[str, Any]:
    """One page of findings for the API, with the words of the codes on it."""
    page = Paginator(in_order(visible_findings(user, chosen)), PER_PAGE).get_page(number)
    views = [view(finding, user) for finding in page.object_list]
    return {
        "count": page.paginator.count,
        "page": page.number,
        "pages": page.paginator.num_pages,
        "severities": dict(counted(visible_findings(user, chosen, but="severity"), "severity")),
        "codes": dict(counted(visible_findings(user, chosen, but="code"), "code")),
        "meanings": {one.code: asdict(MEANINGS[one.code]) for one in views if one.code in MEANINGS},
        "findings": [
            {
                "severity": one.severity,
                "code": one.code,
                "source": one.source.pk if one.source else None,
                "run": one.run,
                "path": one.path,
                "line": one.line,
                "offset": one.offset,
                "message": one.message,
            }
            for one in views
        ],
    }


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


def neutral(cell: Any) -> Any:
    """The cell, with an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def findings_csv(user: Person, chosen: Mapping[str, str], bom: bool) -> Iterator[str]:
    """The lines of the whole filtered set, in the order of the page, without holding them all."""
    writer = csv.writer(_Echo())
    yield ("\ufeff" if bom else "") + writer.writerow(HEAD)
    for finding in in_order(visible_findings(user, chosen)).iterator(chunk_size=1000):
        one = view(finding, user)
        words = MEANINGS.get(one.code)
        source = one.source.name if one.source else ""
        row = (one.severity, one.code, source, one.run, one.path, one.line, one.offset, one.message)
        yield writer.writerow(map(neutral, row + ((words.means, words.done, words.can) if words else ("", "", ""))))
