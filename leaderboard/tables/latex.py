"""A table as LaTeX: booktabs, any text escaped, and comments from which every figure can be found again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from leaderboard.tables.cells import NUMERIC
from leaderboard.tables.table import Line, Placed, Table
from leaderboard.tables.texescape import CJK, escape, needs_cjk

# What stands behind a line of the table's body or of macros; `leaderboard.recipes.check` reads it.
ROW, COLUMNS = "% clinboard-row ", "% clinboard-columns "
_PACKAGES = ("[T1]{fontenc}", "{lmodern}", "{textcomp}", "{booktabs}", "{graphicx}")
# a table that is too wide for the column is made smaller, any other is left as it is
_FIT = (
    r"\begin{lrbox}{0}",
    r"\end{lrbox}",
    r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
)
_CJK_MACRO = (
    rf"\providecommand{{{CJK}}}{{}}\DeclareRobustCommand{{{CJK}}}[2]{{\begin{{CJK*}}{{UTF8}}{{#1}}#2\end{{CJK*}}}}"
)


def as_latex(table: Table, *, label: str = "", about: Sequence[str] = (), wide: bool = False) -> bytes:
    r"""A float to `\input`; `document` makes a whole document of it. UTF-8.

    `about` are lines of provenance that become comments, `label` is the `\label`, `wide` makes a `table*`. Columns of
    whiskers are left out. Needs the packages that the first comments name.
    """
    body = _body(table, label, "table*" if wide else "table")
    packages = [*_PACKAGES, *(["{CJKutf8}"] if needs_cjk(body) else [])]
    head = ["% " + " ".join(rf"\usepackage{package}" for package in packages)]
    head += ["% " + comment(line) for line in about]
    head += [_CJK_MACRO] if needs_cjk(body) else []
    return ("\n".join([*head, body]) + "\n").encode()


def document(fragment: str) -> str:
    """A document that prints one exported table and nothing else."""
    packages = [*_PACKAGES, *(["{CJKutf8}"] if needs_cjk(fragment) else [])]
    used = "\n".join(rf"\usepackage{package}" for package in packages)
    begin = "\\usepackage[a4paper,margin=2cm]{geometry}\n\\pagestyle{empty}\n\\begin{document}"
    return f"\\documentclass{{article}}\n{used}\n{begin}\n{fragment}\\end{{document}}\n"


def comment(text: str) -> str:
    """Text that stays in the comment that it stands in: printable ASCII, all else as JSON escapes it."""
    return "".join(sign if " " <= sign <= "~" else json.dumps(sign)[1:-1] for sign in text)


def cell_source(placed: Placed, line: Line) -> str:
    r"""One cell: `\textbf{36.2}\rlap{\textsuperscript{a}}`, the second line behind it in small type."""
    cell = placed.cell
    if cell.missing:
        return "–"
    numeric = placed.heading.column.kind in NUMERIC
    text = figure(cell.text) if numeric else escape(cell.text)
    if cell.emphasis:
        text = rf"\textbf{{{text}}}" if cell.emphasis == "best" else rf"\underline{{{text}}}"
    if cell.tie:
        text = rf"\ensuremath{{\approx}}\,{text}"
    if marks := "".join([*line.signs_of(placed), placed.mark]):
        raised = rf"\textsuperscript{{{marks}}}"
        text += rf"\rlap{{{raised}}}" if numeric else raised
    return text + _second(cell.sub) if cell.sub and numeric else text


def _second(text: str) -> str:
    return rf"\hspace{{6pt}}{{\scriptsize {figure(text)}}}"


def figure(text: str) -> str:
    """The text of a figure with true minus signs."""
    return r"\ensuremath{-}".join(map(escape, re.split(r"(?<![\w.])-(?=\d)", text)))


def _body(table: Table, label: str, float_name: str) -> str:
    columns = [table.columns[place] for place in table.printed]
    keys = json.dumps([column.key for column in columns])
    lines = [rf"\begin{{{float_name}}}[tbp]", r"\centering\small"]
    caption = escape(". ".join(part.rstrip(".") for part in (table.title, table.caption) if part) + ".")
    lines.append(rf"\caption{{{caption}}}" + (rf"\label{{{label}}}" if label else ""))
    lines.append(r"\vspace{4pt}")
    lines.append(r"\setlength{\tabcolsep}{4pt}")
    shape = "".join("r" if column.kind in NUMERIC else "l" for column in columns)
    lines += [_FIT[0], rf"\begin{{tabular}}{{@{{}}{shape}@{{}}}}", r"\toprule"]
    lines += _spans(table)
    lines.append(" & ".join(escape(column.heading) for column in columns) + rf" \\ {COLUMNS}{comment(keys)}")
    width = len(columns)
    # digits stay below each other where only some figures have a second line
    longest = [
        max((row.cells[place].sub for row in table.rows), key=len) if table.rows else "" for place in table.printed
    ]
    for section in table.sections:
        lines.append(r"\midrule")
        group = section.group
        if group.label:
            lines.append(rf"\multicolumn{{{width}}}{{@{{}}l@{{}}}}{{\textit{{{escape(group.label)}}}}} \\")
        for line in section.lines:
            sources = [cell_source(placed, line) for placed in line.printed]
            for at, (placed, sub) in enumerate(zip(line.printed, longest, strict=True)):
                if sub and columns[at].kind in NUMERIC and (placed.cell.missing or not placed.cell.sub):
                    sources[at] += rf"\phantom{{{_second(sub)}}}"
            lines.append(rf"{' & '.join(sources)} \\ {ROW}{comment(json.dumps(line.row.key))}")
    lines += [r"\bottomrule", r"\end{tabular}", *_FIT[1:]]
    if below := _below(table):
        lines += ["", r"\vspace{4pt}", r"\begin{minipage}{\linewidth}\footnotesize\raggedright"]
        lines += [rf"{text}\par" for text in below]
        lines.append(r"\end{minipage}")
    lines.append(rf"\end{{{float_name}}}")
    return "\n".join(lines)


def _spans(table: Table) -> list[str]:
    """The line above the headings with its rules; whiskers, which are left out, take no room in it."""
    printed = set(table.printed)
    cells, rules, place, at = [], [], 0, 1
    for span in table.spans:
        width = sum(column in printed for column in range(place, place + span.width))
        place += span.width
        if not width:
            continue
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(span.text)}}}" if span.text else " & " * (width - 1))
        if span.text:
            rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [" & ".join(cells) + r" \\", "".join(rules)] if cells else []


def _below(table: Table) -> list[str]:
    """Three paragraphs: what signs and type mean, the footnotes, the facts."""
    signs = "; ".join(f"{mark.sign} {mark.meaning}" for mark in table.legend if mark.sign)
    words = [f"{signs}."] if signs else []
    words += [f"Reference: {mark.meaning}." for mark in table.legend if mark.band]
    words += [
        f"{group.label}: {group.note}" if group.label else group.note for group, _ in table.sections if group.note
    ]
    words += table.notes
    notes = [rf"\textsuperscript{{{mark}}}\,{escape(note.rstrip('.'))}." for mark, note in table.footnotes]
    facts = [f"{escape(label)}: {_breakable(escape(value or 'not stated'))}." for label, value in table.facts]
    return [" ".join(texts) for texts in (list(map(escape, words)), notes, facts) if texts]


def _breakable(source: str) -> str:
    """Addresses may be broken behind a slash."""
    return (
        re.sub(r"(?<=[\w-]/)(?=[\w-])", r"\\allowbreak{}", source)
        if "://" in source or source.startswith("/")
        else source
    )
