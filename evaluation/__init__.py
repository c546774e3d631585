"""What is measured and how: benchmarks, runs, evaluators, statistics. Knows no files and no requests."""
