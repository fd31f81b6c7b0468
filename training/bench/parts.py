"""The table of speeds: every part that ``ddz bench`` measures, in order."""

from __future__ import annotations

from training.bench import aec, batch, engine, memory, search, start, training
from training.bench.benchmark import Part

PARTS: dict[str, Part] = {
    part.key: part
    for part in (
        engine.PART,
        search.PART,
        aec.PART,
        batch.PART,
        batch.LEARNER,
        start.PART,
        memory.PART,
        training.PART,
    )
}
"""Part by key."""
