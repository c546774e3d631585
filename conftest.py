"""How the tests are shared out among processes, and which of them use the database."""

from __future__ import annotations

import os

import pytest

# before NumPy is loaded: the threads of several processes on few cores stand in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

DATABASE = {"db", "transactional_db", "django_db_setup", "live_server"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`database` marks what reads or writes tables; the tests of one file stay together, so that what they share is made once."""
    for item in items:
        if item.get_closest_marker("django_db") or DATABASE & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.database)
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
