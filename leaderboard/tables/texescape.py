"""Any text as LaTeX source that pdflatex prints: T1 fonts with textcomp, CJKutf8 for Chinese, a code for all the rest.

In this order a character is: escaped (TeX's own signs), printed as it is (what T1 and TS1 fonts hold), a macro (Greek,
relations, arrows), a letter with one accent, Chinese or Japanese in the arphic fonts (where GB 2312 or Big5 holds it), or
`[U+1F600]` in typewriter: nothing is dropped and nothing is guessed.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    # a row that begins with one of these would be an argument of the row break before it
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\xa0": "~",
}
# What makes a ligature with itself: -- is a dash, << a guillemet.
_DOUBLED = frozenset("-<>,")
# Beyond ASCII, as `inputenc` maps it to T1 and TS1; a test prints each of them.
_AS_IS = frozenset(
    "¡¢£¤¥¦§¨©ª«¬®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ"
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğĹĺĽľŁłŃńŇňŊŋŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž–—‘’‚“”„†‡•…‰‱‹›€№™"
)
_MACROS = {
    "‐": "-",
    "‑": r"\mbox{-}",
    "−": r"\ensuremath{-}",
    "×": r"\ensuremath{\times}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "≠": r"\ensuremath{\neq}",
    "≈": r"\ensuremath{\approx}",
    "≡": r"\ensuremath{\equiv}",
    "∼": r"\ensuremath{\sim}",
    "∞": r"\ensuremath{\infty}",
    "√": r"\ensuremath{\surd}",
    "∑": r"\ensuremath{\sum}",
    "∆": r"\ensuremath{\Delta}",
    "∂": r"\ensuremath{\partial}",
    "∈": r"\ensuremath{\in}",
    "∩": r"\ensuremath{\cap}",
    "∪": r"\ensuremath{\cup}",
    "←": r"\ensuremath{\leftarrow}",
    "→": r"\ensuremath{\rightarrow}",
    "↑": r"\ensuremath{\uparrow}",
    "↓": r"\ensuremath{\downarrow}",
    "↔": r"\ensuremath{\leftrightarrow}",
    "⇒": r"\ensuremath{\Rightarrow}",
    "Ω": r"\ensuremath{\Omega}",
    "′": r"\ensuremath{'}",
    "″": r"\ensuremath{''}",
}
_GREEK = {
    "Α": "A", "Β": "B", "Ε": "E", "Ζ": "Z", "Η": "H", "Ι": "I", "Κ": "K", "Μ": "M", "Ν": "N", "Ο": "O", "Ρ": "P",
    "Τ": "T", "Χ": "X", "ο": "o",
}  # fmt: skip
_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
)
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".", "\u0308": '"',
    "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0328": "k", "\u0331": "b",
}  # fmt: skip
CJK = r"\clinboardcjk"


def _greek() -> dict[str, str]:
    found = {letter: rf"\ensuremath{{\mathrm{{{latin}}}}}" for letter, latin in _GREEK.items()}
    for name in _GREEK_NAMES.split():
        macro = {"lamda": "lambda"}.get(name, name)
        found[unicodedata.lookup(f"GREEK SMALL LETTER {name}")] = rf"\ensuremath{{\{macro}}}"
        capital = unicodedata.lookup(f"GREEK CAPITAL LETTER {name}")
        found.setdefault(capital, rf"\ensuremath{{\{macro.capitalize()}}}")
    return found | {"ς": r"\ensuremath{\varsigma}", "ϕ": r"\ensuremath{\phi}", "ϵ": r"\ensuremath{\epsilon}"}


_KNOWN = {**_greek(), **_MACROS, **_SIGNS}


def escape(text: str) -> str:
    """LaTeX source that prints `text` in one line; white space of any kind is one space. Total: every str is taken."""
    text = unicodedata.normalize("NFC", " ".join(text.split(" ")))
    out = []
    for font, found in groupby(text, key=_font):
        signs = list(found)
        if font:
            out.append(f"{CJK}{{{font}}}{{{''.join(signs)}}}")
            continue
        for place, sign in enumerate(signs):
            if sign in _DOUBLED and place and signs[place - 1] == sign:
                out.append("{}")
            out.append(_one(sign))
    return re.sub(r"\s+", " ", "".join(out)).strip()


def needs_cjk(source: str) -> bool:
    """Whether source made here uses the Chinese fonts."""
    return CJK in source


def _font(sign: str) -> str:
    """The arphic font that prints a Chinese or Japanese character; "" for everything else."""
    if sign < "\u2e80" or unicodedata.category(sign) not in ("Lo", "Po", "Ps", "Pe"):
        return ""
    for codec, font in (("gb2312", "gbsn"), ("big5", "bsmi")):
        try:
            sign.encode(codec)
        except UnicodeEncodeError:
            continue
        return font
    return ""


def _one(sign: str) -> str:
    if sign in _KNOWN:
        return _KNOWN[sign]
    if " " <= sign <= "~" or sign in _AS_IS:
        return sign
    if unicodedata.category(sign) in ("Zs", "Zl", "Zp") or sign in "\t\n\r\v\f\x85":
        return " "
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if base.isascii() and base.isalpha() and len(accents) == 1 and accents[0] in _ACCENTS:
        base = {"i": r"\i", "j": r"\j"}.get(base, base) if accents[0] < "\u0323" else base
        return rf"\{_ACCENTS[accents[0]]}{{{base}}}"
    return rf"{{\ttfamily{{[}}U+{ord(sign):04X}{{]}}}}"
