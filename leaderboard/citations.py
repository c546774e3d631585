"""How to cite a release and a frozen board, as BibTeX and in one line. The version always stands in it. No Django here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from evaluation.benchmarks.base import BenchmarkSpec
from leaderboard.tables.texescape import escape

ARXIV = "https://arxiv.org/abs/"
PLAIN = frozenset({"url", "urldate", "year", "eprint", "archiveprefix"})  # fields of an alphabet that TeX does not read


@dataclass(frozen=True)
class Entry:
    """A BibTeX entry; fields that are empty are left out. Values are plain text, lists of names are joined with `and`."""

    key: str
    fields: dict[str, str] = field(default_factory=dict)
    corporate: bool = False

    def bibtex(self) -> str:
        lines = []
        for name, value in self.fields.items():
            if not value:
                continue
            # an unescaped brace or percent sign would end the field; addresses hold none
            text = re.sub(r"[{}\\\s]", "", value) if name in PLAIN else escape(value)
            if name == "title" or (name == "author" and self.corporate):
                text = f"{{{text}}}"
            lines.append(f"  {name} = {{{text}}},")
        return "\n".join([f"@misc{{{self.key},", *lines, "}", ""])

    def in_words(self) -> str:
        told = self.fields
        authors = told.get("author", "").replace(" and ", ", ")
        parts = [authors, told.get("title", ""), f"Version {told['version']}"]
        parts += [told.get(name, "") for name in ("howpublished", "note", "url")]
        parts.append(f"Accessed {told['urldate']}" if told.get("urldate") else "")
        return " ".join(f"{part.rstrip('.')}." for part in parts if part)


def terms(spec: BenchmarkSpec) -> str:
    """Licence and attribution in one line; "" where neither is stated."""
    licence = f"Licence: {spec.licence}" if spec.licence else ""
    return ". ".join(part for part in (licence, f"Attribution: {spec.attribution}" if spec.attribution else "") if part)


def cite_release(spec: BenchmarkSpec, release: str, accessed: date) -> Entry:
    """The benchmark's release. Without named authors the attribution stands in their place, without a title the name."""
    told = spec.citation
    fields = {
        "author": " and ".join(told.authors) or spec.attribution,
        "title": told.title or spec.name,
        "year": str(told.year or ""),
        "eprint": told.eprint,
        "archiveprefix": "arXiv" if told.eprint else "",
        "version": release,
        "howpublished": told.published,
        "url": f"{ARXIV}{told.eprint}" if told.eprint else "",
        "urldate": accessed.isoformat(),
        "note": f"Benchmark {spec.name}, release {release}. {terms(spec)}".strip(),
    }
    return Entry(_key(spec.slug, release), fields, corporate=not told.authors)


def cite_freeze(
    title: str, digest: str, frozen: str, release: str, evaluators: list[str], terms: str, url: str, accessed: date
) -> Entry:
    """A frozen board; its version is the sha256 of its content."""
    rules = ", ".join(evaluators) or "none: figures as reported"
    note = f"Frozen {frozen}. Release {release}. Evaluator {rules}. sha256 {digest}. {terms}"
    fields = {
        "author": "ClinBoard",
        "title": title,
        "year": frozen[:4],
        "version": f"sha256:{digest[:16]}",
        "url": url,
        "urldate": accessed.isoformat(),
        "note": note.strip(),
    }
    return Entry(_key("clinboard", digest[:16]), fields, corporate=True)


def _key(*parts: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
