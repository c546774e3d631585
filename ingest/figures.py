"""Pictures that lie beside a dataset file: whether one is there, and its bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

MOST_FIGURE = 20 << 20
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_FOLDERS = ("", "image", "images", "figures")


def lies_there(folder: str, file: str) -> bool:
    """Whether a file of that name lies beside the dataset, where `figure` would look for it. Its bytes are not read.

    The folder comes with its links resolved: a dataset names thousands of files.
    """
    return next(_places(folder, file), None) is not None


def figure(folder: str, file: str) -> tuple[bytes, str] | None:
    """Bytes and type of a figure that lies beside the dataset; None where there is none.

    Only PNG, JPEG, GIF and WebP by their first bytes, only below the dataset's folder, links resolved.
    """
    for real in _places(os.path.realpath(folder), file):
        with open(real, "rb") as stream:
            data = stream.read(MOST_FIGURE)
        kind = next((kind for magic, kind in _IMAGES.items() if data.startswith(magic)), "")
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            kind = "image/webp"
        if kind:
            return data, kind
    return None


def _places(base: str, file: str) -> Iterator[str]:
    if not re.fullmatch(r"[^\x00]{1,300}", file):
        return
    for part in _FOLDERS:
        path = os.path.join(base, part, file)
        if not os.path.isfile(path):  # cheaper than resolving links, which most of these have not
            continue
        real = os.path.realpath(path)
        if os.path.commonpath([base, real]) == base and os.stat(real).st_size <= MOST_FIGURE:
            yield real
