"""The letter of an answer to a multiple-choice question, as a careful reader would take it: rules of `clinboard-mcq-1`.

The reader passes over reasoning blocks, then looks for what was stated outright (a box, a tag, a JSON member, "the answer
is", "B is the correct answer"): the last such statement counts, also when it says that nothing fits or names two letters,
which is no answer. Without one, the last conclusion ("so B", "I think it's C"); without that, a line that is a letter or
begins with one; last, the only letter in bold or brackets. Of a very long answer only the end is read. The words stand in
`mcq_words`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from evaluation.protocols import mcq_words as words

LETTERS = "ABCDEFGHIJ"
LONGEST = 100_000  # signs after the reasoning: whoever says more has said it at the end
CONCLUSION = 2_000  # signs from the end within which a conclusion is one


class Extraction(NamedTuple):
    """`letter` in upper case; `rule` that took it, or why there is none; `span` of the letter in the original text."""

    letter: str | None
    rule: str
    span: tuple[int, int] | None


def _plain_signs() -> dict[int, str]:
    """One sign for one sign, so that every place is the same in the original: full-width, circled, bold letters and signs."""
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    table |= dict.fromkeys([0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, 0x3000], " ")
    for capitals in (0x24B6, 0x1F110, 0x1F130, 0x1F150, 0x1F170):
        table |= {capitals + number: chr(65 + number) for number in range(26)}
    for small in (0x249C, 0x24D0):
        table |= {small + number: chr(97 + number) for number in range(26)}
    for first in range(0x1D400, 0x1D6A4, 52):  # mathematical alphabets: bold, italic, sans-serif, monospace
        for number in range(26):
            table |= {first + number: chr(65 + number), first + 26 + number: chr(97 + number)}
    return table


_SIGNS = _plain_signs()
_KEYS = {rule: (re.compile(text), *reach) for rule, (text, reach) in words.KEYS.items()}
_TAGS = re.compile(rf"(?P<close>{words.REASONING_CLOSES})|{words.REASONING_OPENS}", re.I)
_OPTION = re.compile(rf"(?:{words.WRAP}{words.FILL}){{0,4}}{words.WRAP}{words.ALONE}([A-Za-z]){words.ENDS}", re.I)
_NOTHING = re.compile(
    rf"(?:{words.WRAP}{words.FILL}){{0,3}}{words.WRAP}(?:(?P<hedged>{words.HEDGED})|{words.NO_OPTION})",
    re.I,
)
_LETTER = re.compile(rf"{words.WRAP}{words.ALONE}([A-Z]){words.ENDS}")
_NOT_OPTION = re.compile(words.NOT_OPTION, re.I)
_FOLLOWED, _FOLLOWED_I = re.compile(words.FOLLOWED, re.I), re.compile(words.FOLLOWED_I, re.I)
_REJECTED = re.compile(words.REJECTED, re.I)
_UNSAID = re.compile(words.UNSAID, re.I)
_OR, _AND, _LIST_ENDS = (re.compile(text, re.I) for text in (words.OR, words.AND, words.LIST_ENDS))
_DOUBTED = re.compile(rf"{words.CLOSE}\s?\?", re.I)
_SMALL_WORD = re.compile(rf"{words.CLOSE}[.,:]?\s+[a-z]")
_LISTED = re.compile(
    rf"{words.ALONE}[A-Z][*_)\].]{{0,4}}\s{{0,2}}(?:,|and|or|&|/|und|et|y|o|和|或|、|与|nor)\s{{0,2}}[*(\[]{{0,3}}\Z"
)

_BOX = re.compile(r"\\?f?boxed\s{0,3}\{|\\fbox\{|\\boxed\s{1,3}(?=[A-Za-z]\b)", re.I)
_BOX_WORDS = re.compile(r"\s*(?:(?:the )?(?:final |correct )?(?:answer|option|choice|letter)|答案|选项)[\s:]*", re.I)
_GLUED = re.compile(rf"{words.WRAP}([A-Z]{{2,6}}){words.CLOSE}\s*\Z")
_JSON = re.compile(words.JSON, re.I)
_STATED, _HEADED, _CONCLUDED = (re.compile(text, re.M) for text in (words.STATED, words.HEADED, words.CONCLUDED))
_FIRST = rf"{words.ALONE}(?-i:([A-Z])){words.ENDS}{words.CLOSE}(?:\s?\([^()\n]{{1,60}}\))?"
_FIRST_OUTRIGHT = re.compile(rf"{_FIRST}(?:{words.CORRECT_NOUN})(?! only (?:in|if|when|for))", re.I)
_FIRST_CONCLUDED = re.compile(rf"{_FIRST}(?:{words.CORRECT})(?! only (?:in|if|when|for))", re.I)
_BARE_LINE = re.compile(
    rf"^{words.LINE_WRAP}(?:(?:option|choice|letter|answer|opción|opção|antwort|réponse|选项)\s{{0,2}})?{words.LINE_WRAP}([A-Za-z])"
    rf"{words.CLOSE}[.,;:!。)]{{0,2}}{words.CLOSE}[^\S\n]{{0,9}}$",
    re.I | re.M,
)
_LINE = re.compile(
    rf"^{words.LINE_WRAP}(?:(?:option|choice|选项)\s{{0,2}})?{words.ALONE}([A-Za-z]){words.ENDS}{words.CLOSE}"
    rf"(?:[.):、]|\s[-–—]\s|,?\s(?:because|since|as|weil|denn|car|porque)\s)",
    re.I | re.M,
)
_LINE_REJECTED = re.compile(
    r"\b(?:incorrect|wrong|not|false|unlikely|excluded|falsch|nicht|faux|incorrecta?|errada)\b|错|不|误|✗|❌|✘", re.I
)
_MARKED = re.compile(
    r"\*\*\s?[(\[]?(?P<bold>[A-Z])(?=[)\].:]{0,2}(?:\*\*|\s[^*\n]{1,200}\*\*))|[(\[](?P<bracket>[A-Z])[)\]]"
)
_REFUSED = re.compile(words.REFUSED)
_IN_LOWER_CASE = (_STATED, _HEADED, _CONCLUDED, _REFUSED)
_ROMAN = re.compile(r"^\W{0,6}II\b", re.M)


class _Said(NamedTuple):
    """A statement: where it stands and what it comes to."""

    place: int
    taken: Extraction


def extract(text: str | None, letters: str = LETTERS, options: Mapping[str, str] | None = None) -> Extraction:
    """What `text` answers: (letter, rule, span of the letter in `text`), or (None, why, None).

    `letters` are the options there are, in upper case. With `options`, letter -> text of the option, a response that is
    exactly one option's text (case and white space folded) is that option.
    Linear in the length of the text; raises nothing.
    """
    text = text or ""
    plain, open_ended = _visible(text if text.isascii() else text.translate(_SIGNS))
    if open_ended:
        return Extraction(None, "unclosed_reasoning", None)
    plain = plain.rstrip()
    if not plain:
        return Extraction(None, "empty", None)
    reader = _Reader(plain, letters)
    found = reader.outright() or reader.concluded() or reader.bare()
    if found.letter is None and options and (letter := _as_option_text(plain, options)):
        return Extraction(letter, "option_text", None)
    return found


def _visible(text: str) -> tuple[str, bool]:
    """The text with reasoning blocks replaced by line breaks, sign for sign; whether a block is left open.

    A closing tag without an opening one (templates swallow it) ends reasoning that began with the text.
    """
    if not any(sign in text for sign in "<[◁"):
        return text, False
    parts: list[str] = []
    start, hidden, opened = 0, 0, False
    for tag in _TAGS.finditer(text):
        if tag["close"] and not opened:
            parts, hidden, start = [], tag.end(), tag.end()
        elif tag["close"]:
            opened, hidden, start = False, hidden + tag.end() - start, tag.end()
        elif not opened:
            parts += ["\n" * hidden, text[start : tag.start()]]
            opened, hidden, start = True, 0, tag.start()
    return "".join([*parts, "\n" * hidden, text[start:]]), opened


def _as_option_text(text: str, options: Mapping[str, str]) -> str | None:
    said = " ".join(text.casefold().split()).strip(" .*\"'")
    fits = [letter for letter, option in options.items() if " ".join(option.casefold().split()).strip(" .*\"'") == said]
    return fits[0] if said and len(fits) == 1 else None


class _Reader:
    """One response, its reasoning taken out."""

    def __init__(self, text: str, letters: str) -> None:
        self.text, self.letters = text, letters
        self.lower = text.replace("İ", "ĭ").lower()  # the only capital whose small form is two signs
        self.start = max(0, len(text) - LONGEST)

    # --- statements -----------------------------------------------------------------------------------------------

    def outright(self) -> Extraction | None:
        return self._last(
            self._boxes,
            lambda since: self._led("json", _JSON, "json", since),
            lambda since: self._led("phrase", _STATED, "stated", since),
            lambda since: self._led("headed", _HEADED, "headed", since, strict=True),
            lambda since: self._letter_first(_FIRST_OUTRIGHT, since),
        )

    def concluded(self) -> Extraction | None:
        self.start = max(self.start, len(self.text) - CONCLUSION)
        return self._last(
            lambda since: self._led("conclusion", _CONCLUDED, "conclusion", since, strict=True),
            lambda since: self._letter_first(_FIRST_CONCLUDED, since),
        )

    def _last(self, *rules: Callable[[int], Iterator[_Said]]) -> Extraction | None:
        """The statement that stands last. A rule gives its own from the last to the first, none that begins before `since`."""
        last = None
        for rule in rules:
            since = max(last.place + 1, last.taken.span[1] if last.taken.span else 0) if last else self.start
            last = next(rule(since), None) or last
        return last.taken if last else None

    def _found(self, pattern: re.Pattern[str], keys: str, since: int) -> Iterator[re.Match[str]]:
        """The matches from the last to the first, sought around the key signs alone."""
        key, before, after = _KEYS[keys]
        text = self.lower if pattern in _IN_LOWER_CASE else self.text
        windows: list[list[int]] = []
        for match in key.finditer(self.lower, since):
            low, high = max(since, match.start() - before), match.end() + after
            if windows and low <= windows[-1][1]:
                windows[-1][1] = high
            else:
                windows.append([low, high])
        for low, high in reversed(windows):
            yield from reversed(list(pattern.finditer(text, low, high)))

    def _boxes(self, since: int) -> Iterator[_Said]:
        for box in self._found(_BOX, "boxed", since):
            if self._unsaid(box.start()):
                continue
            content = self.text[box.end() : box.end() + 300].split("\n", 1)[0]
            content = content[: _closing(content)]
            if box[0][-1] != "{":
                content = content[:1]
            said = self._in_box(content, box.end())
            after = box.end() + len(content)
            if said and not (said.letter and (_REJECTED.match(self.text, after) or _DOUBTED.match(self.text, after))):
                yield _Said(box.start(), said)

    def _in_box(self, content: str, start: int) -> Extraction | None:
        """What a box says; None for what is no answer to a lettered question: a number, a word, a placeholder."""
        content = content.replace("{", " ").replace("}", " ")
        inner = _Reader(content.rstrip(), self.letters)
        words_end = match.end() if (match := _BOX_WORDS.match(content)) else 0
        if not content.strip() or _NOTHING.match(content, words_end):
            return Extraction(None, "no_option", None)
        if (glued := _GLUED.match(content, words_end)) and set(glued[1]) <= set(self.letters):
            return Extraction(None, "several", None)
        found = inner.state(words_end, "boxed", strict=False)
        if found is None or found.span is None:
            return found
        low, high = found.span
        return found._replace(span=(start + low, start + high))

    def _led(self, rule: str, pattern: re.Pattern[str], keys: str, since: int, strict: bool = False) -> Iterator[_Said]:
        for lead in self._found(pattern, keys, since):
            found = self.state(lead.end(), rule, strict)
            if found is None or self._unsaid(lead.start()):
                continue
            if rule == "conclusion" and (found.letter is None and found.rule == "no_option"):
                continue
            yield _Said(lead.start(), found)

    def _letter_first(self, pattern: re.Pattern[str], since: int) -> Iterator[_Said]:
        for match in self._found(pattern, "letter_first", since):
            start, end = match.span(1)
            before = self.text[max(0, start - 24) : start]
            if (
                self._unsaid(start)
                or re.search(r"(?:neither|nor)\W{1,4}\Z", before, re.I)
                or match[1] not in self.letters
            ):
                continue
            if _LISTED.search(before):
                yield _Said(start, Extraction(None, "several", None))
            else:
                yield _Said(start, Extraction(match[1], "letter_first", (start, end)))

    def state(self, place: int, rule: str, strict: bool) -> Extraction | None:
        """What is said from `place` on: a letter, no option, several; None when nothing is."""
        if nothing := _NOTHING.match(self.text, place):
            return Extraction(None, "several" if nothing["hedged"] else "no_option", None)
        option = _OPTION.match(self.text, place)
        if option is None:
            return None
        start, end = option.span(1)
        if not self.is_option(start, end, strict) or _REJECTED.match(self.text, end) or _DOUBTED.match(self.text, end):
            return None
        if self._is_several(end):
            return Extraction(None, "several", None)
        letter = option[1].upper()
        return Extraction(letter, rule, (start, end)) if letter in self.letters else Extraction(None, "no_option", None)

    def is_option(self, start: int, end: int, strict: bool) -> bool:
        """Whether the letter is meant as an option and is no pronoun, article or part of a term."""
        letter = self.text[start]
        if _NOT_OPTION.match(self.text, end):
            return False
        if letter in "Ii":
            return bool(_FOLLOWED_I.match(self.text, end))
        if strict and _SMALL_WORD.match(self.text, end) and self.text[end : end + 1] == ".":
            return False
        if letter == "A" and not strict and re.compile(r"\s[A-Z][a-z]").match(self.text, end):
            return True
        return bool(_FOLLOWED.match(self.text, end)) if strict or letter == "A" or letter.islower() else True

    def _is_several(self, end: int) -> bool:
        for joined, lasts in ((_OR, False), (_AND, True)):
            if not (match := joined.match(self.text, end)):
                continue
            second = _LETTER.match(self.text, match.end())
            named = second and second[1] in self.letters and self.is_option(*second.span(1), strict=False)
            if second and named and (not lasts or _LIST_ENDS.match(self.text, second.end(1))):
                return True
        return False

    def _unsaid(self, start: int) -> bool:
        return bool(_UNSAID.search(self.text[max(0, start - 48) : start]))

    # --- without a statement --------------------------------------------------------------------------------------

    def bare(self) -> Extraction:
        """A line that is a letter, then one that begins with a letter, then the only letter that is marked."""
        self.start = max(0, len(self.text) - LONGEST)
        lines = [match.span(1) for match in _BARE_LINE.finditer(self.text, self.start)]
        if lines and self._is_answer_line(lines):
            return self._take("line", lines[-1])
        if any(self._found(_REFUSED, "refused", self.start)):
            return Extraction(None, "refused", None)
        if span := self._leading_line():
            return self._take("leading", span)
        marked: dict[str, tuple[int, int]] = {}
        for match in _MARKED.finditer(self.text, self.start):
            start, end = match.span(match.lastgroup or 0)
            if self.text[start] in self.letters and not _REJECTED.match(self.text, end):
                marked[self.text[start]] = start, end
        if len(marked) == 1:
            return self._take("marked", *marked.values())
        return Extraction(None, "several" if marked else "none", None)

    def _is_answer_line(self, lines: list[tuple[int, int]]) -> bool:
        """One letter alone on its line, or the last of several that are no list."""
        distinct = {self.text[start].upper() for start, _ in lines}
        between = self.text[lines[-2][1] : lines[-1][0]] if len(lines) > 1 else ""
        return len(distinct) == 1 or bool(re.search(r"[A-Za-z]{2}", between))

    def _leading_line(self) -> tuple[int, int] | None:
        """The line that begins with a letter: the only one that is not rejected, or the one apart from a list."""
        leads: list[tuple[int, int]] = []
        for match in _LINE.finditer(self.text, self.start):
            start, end = match.span(1)
            sign = self.text[start]
            rest = self.text[end : end + 200].split("\n", 1)[0]
            if sign.upper() not in self.letters or _NOT_OPTION.match(self.text, end) or _LINE_REJECTED.search(rest):
                continue
            if sign in "Ii" and (_ROMAN.search(self.text, self.start) or not _FOLLOWED_I.match(self.text, end)):
                continue
            if sign.islower() and self.text[end : end + 1] not in (".", ")"):
                continue
            leads.append((start, end))
        runs: list[list[tuple[int, int]]] = []
        for span in leads:
            if runs and self.text[runs[-1][-1][0]].upper() < self.text[span[0]].upper():
                runs[-1].append(span)
            else:
                runs.append([span])
        single = {self.text[run[0][0]].upper(): run[0] for run in runs if len(run) == 1}
        return next(iter(single.values())) if len(single) == 1 else None

    def _take(self, rule: str, span: tuple[int, int]) -> Extraction:
        letter = self.text[span[0]].upper()
        return Extraction(letter, rule, span) if letter in self.letters else Extraction(None, "no_option", None)


def _closing(content: str) -> int:
    """Where the brace that was opened before `content` closes; its end when it does not."""
    depth = 0
    for place, sign in enumerate(content):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return place
    return len(content)
