"""The table of speeds: every part that ``ddz bench`` measures, in order."""

from __future__ import annotations

from training.evaluation import (
    bench_aec,
    bench_batch,
    bench_engine,
    bench_memory,
    bench_search,
    bench_start,
    bench_training,
)
from training.evaluation.benchmark import Part

PARTS: dict[str, Part] = {
    part.key: part
    for part in (
        bench_engine.PART,
        bench_search.PART,
        bench_aec.PART,
        bench_batch.PART,
        bench_start.PART,
        bench_memory.PART,
        bench_training.PART,
    )
}
"""Part by key."""
