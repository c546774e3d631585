"""A copy of the public boards that needs no server: the pages as anybody sees them, their JSON, and a bare table a board.

Every page is asked for as an anonymous reader asks, so what is private cannot come in. Links become relative; what leads to
a page that is not in the copy loses its link, and forms go. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import hashlib
import io
import json
import posixpath
import re
import shutil
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.test.client import RequestFactory
from django.urls import resolve, reverse

from evaluation.models import Run
from leaderboard.boards import BoardView, view_board
from leaderboard.data import eee
from leaderboard.data.archive import as_json, write_archive
from leaderboard.lists import shown_models
from leaderboard.models import Board

MANIFEST = "clinboard-copy.json"
ANYBODY = AnonymousUser()
_ANCHOR = re.compile(r"<a\b([^>]*)>(.*?)</a>", re.DOTALL)
_FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)
_LEAD = re.compile(r'\b(href|src)="([^"]*)"')
_LINK = re.compile(r'<link\b[^>]*\bhref="([^"]*)"[^>]*>')
_CSS = re.compile(r"url\(\s*['\"]?(?!data:|#|[a-z]+:)([^'\")?#]+)")
_LEADING_KEYS = ("href", "page", "api")  # of JSON documents


class Occupied(Exception):
    """The folder holds something that is no earlier copy."""


def places() -> dict[str, str]:
    """Address on the server -> file of the copy, of everything but style sheets and the like."""
    out = {reverse("home"): "index.html", reverse("models"): "models/index.html"}
    out |= {reverse("api:boards"): "boards.json", reverse("api:models"): "models.json"}
    for board in Board.objects.visible_to(ANYBODY).with_benchmark():
        if view_board(board, ANYBODY) is None:
            continue
        folder = f"boards/{_folder(board.slug)}"
        out[reverse("board", args=[board.slug])] = f"{folder}/index.html"
        out[reverse("api:board", args=[board.slug])] = f"{folder}/board.json"
        out[reverse("board-archive", args=[board.slug])] = f"{folder}/archive.zip"
    for model in shown_models(ANYBODY):
        out[reverse("model", args=[model.slug])] = f"models/{_folder(model.slug)}/index.html"
    runs = Run.objects.visible_to(ANYBODY).select_related("split__release__benchmark").defer("counts")
    for run in runs.order_by("pk"):
        out[reverse("run", args=[run.key])] = f"runs/{run.key}/index.html"
        out[reverse("api:run", args=[run.key])] = f"runs/{run.key}/run.json"
        if run.evaluations.filter(current=True, evaluator__name=eee.evaluator_name(run)).exists():
            out[reverse("run-eee", args=[run.key])] = f"runs/{run.key}/eee.json"
    return out


def _folder(slug: str) -> str:
    """A slug as a folder's name on any disk: plain letters, a hash where others were lost."""
    if slug.isascii() and slug not in ("", ".", ".."):
        return slug
    plain = re.sub(r"[^a-z0-9-]+", "-", slug.lower()).strip("-")
    return f"{plain}-{hashlib.sha256(slug.encode()).hexdigest()[:8]}"


def write_site(out: Path) -> int:
    """Write the copy into `out`, in place of an earlier one; the number of files. Raises Occupied and OSError."""
    if out.exists() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise Occupied(f"{out}: holds files and is no earlier copy; name an empty folder")
    beside = out.with_name(f".{out.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        sums = {}
        for name, content in _files():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            sums[name] = hashlib.sha256(content).hexdigest()
        (beside / MANIFEST).write_bytes(as_json({"made_by": "ClinBoard", "files": dict(sorted(sums.items()))}))
        shutil.rmtree(out, ignore_errors=True)
        beside.rename(out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return len(sums) + 1


def _files() -> Iterator[tuple[str, bytes]]:
    known = places()
    statics: dict[str, str] = {}
    for address, name in known.items():
        if name.endswith(".zip"):
            continue
        content = _answer(address)
        if name.endswith(".html"):
            yield name, _page(content.decode(), name, known, statics).encode()
        else:
            yield name, as_json(_relative_json(json.loads(content), name, known))
    for board in Board.objects.visible_to(ANYBODY).with_benchmark():
        view, archive = view_board(board, ANYBODY), io.BytesIO()
        if view is not None and write_archive(board, ANYBODY, archive):
            folder = posixpath.dirname(known[reverse("board", args=[board.slug])])
            yield f"{folder}/archive.zip", archive.getvalue()
            yield f"{folder}/embed.html", _page(_embed(view), f"{folder}/embed.html", known, statics).encode()
    yield from _static_files(statics)


def _answer(address: str) -> bytes:
    """What anybody is given at an address."""
    host = settings.ALLOWED_HOSTS[0].strip(".*") if settings.ALLOWED_HOSTS else ""
    request: Any = RequestFactory(SERVER_NAME=host or "localhost").get(address, secure=True)
    request.user, request.static_copy = ANYBODY, True
    found = resolve(unquote(address))
    answer = found.func(request, *found.args, **found.kwargs)
    if answer.status_code != 200:
        raise RuntimeError(f"{address}: answered with {answer.status_code}")
    return b"".join(answer) if answer.streaming else answer.content


def _embed(view: BoardView) -> str:
    """The board's table alone, with the terms under it."""
    benchmark = view.board.benchmark
    terms = {"licence": benchmark.licence, "attribution": benchmark.attribution}
    return render_to_string("leaderboard/embed.html", {"view": view, "page": view.board.get_absolute_url(), **terms})


# --- what a page says, without the server -----------------------------------------------------------------------------


def _page(text: str, name: str, known: dict[str, str], statics: dict[str, str]) -> str:
    """A page with links that work from a folder; `statics` takes up what it loads."""

    def lead(value: str) -> str | None:
        return _lead(unescape(value), name, known, statics)

    def attributes(match: re.Match[str]) -> str:
        target = lead(match[2])
        return f'{match[1]}="{escape(target)}"' if target is not None else ""

    def anchor(match: re.Match[str]) -> str:
        href = _LEAD.search(match[1])
        if href is None or lead(href[2]) is not None:
            return match[0]
        return "" if 'class="btn' in match[1] else f"<span>{match[2]}</span>"

    text = _FORM.sub("", text)
    head, nav, rest = text.partition('<nav class="pages"')
    menu, end, rest = rest.partition("</nav>")
    menu = _ANCHOR.sub(lambda match: "" if anchor(match) != match[0] else match[0], menu)
    text = _ANCHOR.sub(anchor, head + nav + menu + end + rest)
    text = _LINK.sub(lambda match: match[0] if lead(match[1]) is not None else "", text)
    return _LEAD.sub(attributes, text)


def _lead(href: str, name: str, known: dict[str, str], statics: dict[str, str]) -> str | None:
    """Where a link leads from the file `name`; None: nowhere in this copy."""
    parts = urlsplit(href)
    if parts.scheme or parts.netloc:
        return href if parts.scheme in ("http", "https", "mailto") else None
    if not parts.path and not parts.query:
        return href
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    static = f"/{settings.STATIC_URL.strip('/')}/"
    if parts.path.startswith(static):
        target = f"static/{parts.path.removeprefix(static)}"
        statics[target] = unquote(parts.path.removeprefix(static))
    elif parts.query or parts.path not in known:
        return None
    else:
        target = known[parts.path]
    return quote(posixpath.relpath(target, posixpath.dirname(name) or ".")) + fragment


def _relative_json(value: Any, name: str, known: dict[str, str]) -> Any:
    """A document in which addresses lead to files of the copy, or are empty."""
    if isinstance(value, list):
        return [_relative_json(one, name, known) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: (_lead(one, name, known, {}) or "")
        if key in _LEADING_KEYS and isinstance(one, str)
        else _relative_json(one, name, known)
        for key, one in value.items()
    }


def _static_files(statics: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Style sheets, scripts and icons, and what the style sheets name."""
    todo, done = dict(statics), set()
    while todo:
        target, source = todo.popitem()
        if target in done:
            continue
        done.add(target)
        found = finders.find(source)
        path = Path(found) if found else settings.STATIC_ROOT / source
        content = path.read_bytes()
        if path.suffix == ".css":
            for named in _CSS.findall(content.decode()):
                other = posixpath.normpath(posixpath.join(posixpath.dirname(source), named))
                todo[f"static/{other}"] = other
        yield target, content
