"""The benchmarks: one module each. Adding one is adding a module here and its line in BENCHMARKS."""

from __future__ import annotations

from evaluation.benchmarks import agent_ehr_bench, ehr_bench, liveclin, llmeval_med, mm_bench
from evaluation.benchmarks.base import BenchmarkSpec

BENCHMARKS: dict[str, BenchmarkSpec] = {
    spec.slug: spec for spec in (liveclin.SPEC, ehr_bench.SPEC, agent_ehr_bench.SPEC, mm_bench.SPEC, llmeval_med.SPEC)
}

__all__ = ["BENCHMARKS", "BenchmarkSpec"]
