"""What every benchmark and world of Proctor must do, checked for ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench_core.testing import BenchmarkConformance, WorldConformance
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.world import BuiltInWorld

if TYPE_CHECKING:
    from bench_core.protocols import World


class TestBenchmark(BenchmarkConformance):
    @pytest.fixture
    def benchmark_under_test(self) -> MultiRealBenchmark:
        return MultiRealBenchmark("built-in")

    @pytest.fixture
    def trial(self) -> None:
        return None


class TestWorld(WorldConformance):
    @pytest.fixture
    def world(self) -> World:
        return BuiltInWorld()
