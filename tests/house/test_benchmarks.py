"""``make bench``: how it measures.  No figure of speed is asserted."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from benchmarks.__main__ import main, measure
from benchmarks.contenders import Contender, Part, Work


def test_measuring_takes_turns_and_leaves_out_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    turns: list[str] = []

    def work(name: str, value: float) -> Work:
        while True:
            turns.append(name)
            yield 1, 1 / value

    def missing() -> Work:
        raise ModuleNotFoundError("No module named 'chess'", name="chess")

    contenders = (
        Contender("ours", partial(work, "ours", 8.0)),
        Contender("slow", partial(work, "slow", 2.0), "ours"),
        Contender("fast", partial(work, "fast", 4.0), "ours"),
    )
    rows = measure(Part("t", "u/s", (*contenders, Contender("absent", missing, "ours"))), 3, seconds=0.1)
    assert turns == ["ours", "slow", "fast"] * 4  # the first warms up
    found = [(row["name"], row["values"], row["ratio"]) for row in rows]
    assert found == [("ours", [8.0] * 3, None), ("slow", [2.0] * 3, 4.0), ("fast", [4.0] * 3, 2.0)]
    assert "absent is not installed (chess)" in capsys.readouterr().err
    with pytest.raises(ModuleNotFoundError):
        measure(Part("t", "u/s", (Contender("ours", missing),)), 1)


def test_what_is_measured_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "speeds.json"
    main(["engine", "--repeats", "1", "--json", str(path)])
    document = json.loads(path.read_text())
    names = [row["name"] for row in document["measurements"]]
    told = capsys.readouterr().out
    assert all(name in told for name in (*names, "games/s", "cores"))
    with pytest.raises(SystemExit):
        main(["poetry"])
