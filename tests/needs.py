"""What a test needs beside Python. Absent, the test is skipped and says why; asked for in CLINBOARD_REQUIRE, it fails."""

from __future__ import annotations

import os

import pytest


def need(what: str, present: bool, missing: str) -> None:
    """Go on if `present`; else skip, or fail when `what` is in the comma-separated CLINBOARD_REQUIRE."""
    if present:
        return
    if what in os.environ.get("CLINBOARD_REQUIRE", "").split(","):
        pytest.fail(f"{what} tests were asked for, but {missing}")
    pytest.skip(f"{what} tests not run: {missing}")
