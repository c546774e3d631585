"""What is counted of LiveClin's dataset while its items are read: options, images and tables, which items do not keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from evaluation.protocols.liveclin_items import LETTERS, case_id


class GoldCounter:
    """Counts the case objects that pass through `over`."""

    def __init__(self) -> None:
        self._questions = self._ten = self._among = self._tables = self._unnamed = 0
        # a name may stand for another picture in another case
        self._images: set[tuple[str, str]] = set()

    def over(self, cases: Iterable[Any]) -> Iterator[Any]:
        """The same cases. Each is counted when the next one is asked for: whoever reads them has not refused it then."""
        for case in cases:
            yield case
            self._add(case)

    def counts(self, lies_there: Callable[[str], bool]) -> dict[str, int]:
        """`questions`, those with `ten_options` (A to J and no other), those with their `letter_among_options`; `images`
        (one file named by one case, however often; an image without a file counts too), `images_there` by `lies_there`;
        `tables` (each as often as it is shown).
        """
        return {
            "questions": self._questions,
            "ten_options": self._ten,
            "letter_among_options": self._among,
            "images": len(self._images) + self._unnamed,
            "images_there": sum(lies_there(file) for _, file in self._images),
            "tables": self._tables,
        }

    def _add(self, case: Mapping[str, Any]) -> None:
        name, policy = case_id(case), case["exam_creation"]["final_policy"]
        for mcq in policy["mcqs"]:
            options = mcq.get("options")
            letters = set(options) if isinstance(options, dict) else set()
            self._questions += 1
            self._ten += letters == set(LETTERS)
            self._among += mcq["correct_answer"].upper() in letters
            self._shown(name, mcq, "")
        self._shown(name, policy, "scenario_")

    def _shown(self, name: str, part: Mapping[str, Any], prefix: str) -> None:
        self._tables += len(part.get(f"{prefix}table_details") or ())
        for detail in part.get(f"{prefix}image_details") or ():
            file = detail.get("file")
            if isinstance(file, str) and file:
                self._images.add((name, file))
            else:
                self._unnamed += 1
