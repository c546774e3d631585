"""Files that leave the hall: one table in any form, named so that it is still known a year later."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.text import slugify

from evaluation.benchmarks import BENCHMARKS
from leaderboard.models import Board
from leaderboard.tables import FORMS, Form, Table, render

if TYPE_CHECKING:
    from evaluation.querysets import Person
    from leaderboard.boards import BoardView

HTML = Form("html", "HTML", "text/html; charset=utf-8", lambda table: as_html(table))
EXPORTS: dict[str, Form] = {**FORMS, "html": HTML}


def as_html(table: Table) -> bytes:
    """A page of its own with the table as the board shows it; it loads nothing from anywhere."""
    return render_to_string("leaderboard/exported.html", {"table": table}).encode()


def exported(table: Table, form: str, *, bom: bool = False, **latex: Any) -> bytes:
    """The table as a file; `latex` are the options of `leaderboard.tables.latex.as_latex`, for every other form unused.

    Raises KeyError for an unknown form.
    """
    if form == "tex":
        from leaderboard.tables.latex import as_latex

        return as_latex(table, **latex)
    return as_html(table) if form == "html" else render(table, form, bom=bom)


def for_file(view: BoardView, user: Person, base: str) -> Table:
    """A board's table with what its page says beside it, for a reader who has only the file."""
    board, spec = view.board, BENCHMARKS[view.board.benchmark.slug]
    notes = [*view.chosen, *view.table.notes]
    if board.shots:
        twin = Board.objects.visible_to(user).filter(
            split=board.split, mode=board.mode, shots=0, conversation_kept=board.conversation_kept
        )
        where = ", ".join(f"{base}{one.get_absolute_url()}" for one in twin) or "not here"
        notes.append(f"All figures are {board.shots}-shot. The zero-shot figures of the same questions are: {where}.")
    terms = ", ".join(filter(None, (spec.licence, spec.attribution)))
    more = [("Licence and attribution", terms), ("Made", timezone.now().date().isoformat())]
    asked = view.choice.wish.address() if view.choice and view.choice.wish else ""
    more.append(("Address", f"{base}{board.get_absolute_url()}{asked}"))
    title = f"{view.table.title} {view.subtitle}"
    facts = (*view.table.facts, *((label, value) for label, value in more if value))
    return replace(view.table, title=title, caption=view.summary, notes=tuple(notes), facts=facts)


def file_name(name: str, form: str, day: date | None = None) -> str:
    """`liveclin-main-table_2026-11-30.csv`: ASCII, no separators of paths, at most 100 characters before the date."""
    stem = slugify(name)[:100].strip("-") or "table"
    return f"{stem}_{(day or timezone.now().date()).isoformat()}.{form}"


def download(table: Table, form: str, name: str, *, bom: bool = False, **latex: Any) -> HttpResponse:
    """The table as a download named after `name` and today. Raises KeyError for an unknown form."""
    content = exported(table, form, bom=bom, **latex)
    headers = {
        "Content-Disposition": f'attachment; filename="{file_name(name, form)}"',
        "X-Content-Type-Options": "nosniff",
    }
    return HttpResponse(content, content_type=EXPORTS[form].content_type, headers=headers)
