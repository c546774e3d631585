"""What the statistics import: the standard library and NumPy."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from evaluation import statistics


@pytest.mark.parametrize("path", sorted(Path(statistics.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_nothing_but_numpy_is_needed(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    roots = {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    roots |= {name.split(".")[0] for name in modules if not name.startswith("evaluation.statistics")}
    assert roots - set(sys.stdlib_module_names) <= {"numpy"}
