"""A small tree with one run, for the tests of the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.trees import Tree, run_path, small_tree

GLM = run_path("glm_4_7")


@pytest.fixture(name="tree")
def one_run(tmp_path: Path) -> Tree:
    return small_tree(tmp_path / "tree")
