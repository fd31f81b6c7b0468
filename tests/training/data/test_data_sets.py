"""Data sets: games replay to the bit, tables say what the games were, and other programs read them."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_env import Hand, Move, Rules, State, __version__
from ddz_env.core.observation import OBSERVATION, Layout, observe
from ddz_env.core.observation import layout as layouts
from ddz_env.core.rules import PRESETS
from ddz_env.peers.botzone.games import GAMES as GAMES_OF_BOTZONE
from ddz_env.saved_games import Deal, SavedGame
from ddz_env.support.errors import DouDizhuError
from ddz_training.botzone.match import play_botzone_match
from ddz_training.data import table
from ddz_training.data.dataset import CARD, write_data_set
from ddz_training.data.episodes import write_episodes
from ddz_training.data.games import (
    FORMAT,
    GAMES,
    ActionStatistics,
    DataSetError,
    GameRecordError,
    RecordedGame,
    read_games,
)
from ddz_training.data.recording import Recording, record_games
from ddz_training.data.sources import import_games, read_imported_games, read_won_games
from ddz_training.data.table import COLUMNS, read_batches
from ddz_training.learn.imitation import load_imitation_dataset
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.errors import AgentFailedError, SettingsMismatchError
from ddz_training.measure.store import ResultStore
from ddz_training.measure.summaries import summarize
from tests.training.cli.terminal import ddz

needs_tables = pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="tables need PyArrow")


def record(folder: Path, *agents: str, deals: int = 3, **about: Any) -> list[RecordedGame]:
    recording = Recording(agents, **about)
    return record_games(recording, deals, store=recording.store(folder / GAMES))


def rows_of(folder: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    return [row for batch in read_batches(folder, columns) for row in batch.to_pylist()]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_recorded_game_replays_to_the_bit_without_its_seed(preset: str, tmp_path: Path) -> None:
    rules = Rules.preset(preset)
    record(tmp_path, "random", deals=2, rules=rules, seed=5)
    file = read_games(tmp_path)
    assert (file.rules, file.agents, len(file.games)) == (rules, ("random",), 2)
    for game in file.games:
        played = State.new(5, rules, game.deal)
        assert game.start(rules) == played
        for text in game.moves:
            played.step(text)
        assert played.is_over
        assert game.replay(rules) == played
        text = str(game.to_saved_game(rules, file.agents))
        assert SavedGame.parse(text).deal.state(SavedGame.parse(text).moves).history == played.history


def test_a_deal_that_nobody_bid_on_is_dealt_again_alike() -> None:
    start = State.new(3, "bidding")
    over, moves = start.copy(), []
    while not over.is_over:
        moves.append(over.legal_moves()[0])  # "no bid" before the new deal, and once more behind it
        if len(moves) > 4 and over.stage == "bid":
            moves[-1] = Move.parse("bid 3")
        over.step(moves[-1])
    game = RecordedGame.of(start, moves, over)
    assert game.moves[:3] == ("no bid",) * 3
    assert len(over.history) == len(moves) - 3
    assert game.replay(over.rules) == over


def test_a_record_that_does_not_replay_is_refused(tmp_path: Path) -> None:
    game = record(tmp_path, "random", deals=1)[0]
    rules = Rules()
    stronger = ("R" if game.moves[0] != "R" else "B", *game.moves[1:])
    for change, message in (
        ({"moves": (*game.moves, "pass")}, f"decision {len(game.moves)} of game 0 of deal 0 does not fit"),
        ({"moves": stronger}, "does not fit"),
        ({"moves": game.moves[:-1]}, "replays to the returns"),
        ({"win": tuple(-value for value in game.win)}, "replays to the returns"),
        ({"hands": game.hands[:2]}, "has no deal of the standard rules"),
        ({"searched": ("1:2:3:4",)}, "decision 0 of game 0 of deal 0 does not fit"),
    ):
        with pytest.raises(GameRecordError, match=message):
            dataclasses.replace(game, **change).replay(rules)


def test_a_recorded_match_is_the_match_of_the_arena(tmp_path: Path) -> None:
    games = record(tmp_path, "rules", "random", deals=3, seed=8)
    records = run_arena(Arena(("rules", "random"), seed=8, timing=False), 3)
    assert [(g.deal, g.game, g.seats, g.win, g.stake, len(g.moves)) for g in games] == [
        (r.deal, r.game, r.seats, r.win, r.stake, r.moves) for r in records
    ]


def test_a_recording_is_completed_and_names_its_version(tmp_path: Path) -> None:
    whole = record(tmp_path / "whole", "random", deals=4)
    record(tmp_path, "random", deals=2)
    assert record(tmp_path, "random", deals=4) == whole
    assert read_games(tmp_path) == read_games(tmp_path / "whole")
    with pytest.raises(SettingsMismatchError, match="seed: the file has 0, this run 1"):
        record(tmp_path, "random", seed=1)
    assert read_games(tmp_path).settings["code"] == [__version__]


class Quitter:
    name = "quitter"

    def act(self, view: Any, rng: np.random.Generator) -> Move:
        raise RuntimeError("no more")


def test_what_cannot_be_recorded_has_a_named_error(tmp_path: Path) -> None:
    for agents, about in ((("random",) * 4, {}), (("rules",), {"visits": True}), (("random",), {"deals": 0})):
        with pytest.raises(DataSetError):
            record(tmp_path, *agents, **about)  # type: ignore[arg-type]
        assert not (tmp_path / GAMES).exists()
    with pytest.raises(AgentFailedError, match=r"failed in seat 0 of deal 0, game 0 .*no more"):
        record(tmp_path / "quit", f"{__name__}:Quitter")
    with pytest.raises(DataSetError, match="there is no file"):
        read_games(tmp_path / "nowhere")


def test_settings_that_say_no_agents_or_rules_are_refused_by_name(tmp_path: Path) -> None:
    good: dict[str, Any] = {"format": FORMAT, "agents": ["random"], "rules": {"name": "standard"}}
    for wrong in ({"agents": "rules"}, {"agents": [5]}, {"agents": None}, {"rules": []}, {"rules": {"x": 1}}):
        (tmp_path / GAMES).unlink(missing_ok=True)
        ResultStore(RecordedGame, tmp_path / GAMES, good | wrong, ("deal",)).update_settings()
        with pytest.raises(DataSetError, match=f"the {next(iter(wrong))} in its settings"):
            read_games(tmp_path)


@needs_tables
def test_a_table_says_what_each_stage_of_the_games_was(tmp_path: Path) -> None:
    rules = Rules.preset("bidding")
    record(tmp_path, "random", "rules", deals=1, rules=rules)
    data = write_data_set(tmp_path)
    rows = rows_of(tmp_path, [column.name for column in COLUMNS])
    assert (data.games, data.rows) == (6, len(rows))
    kickers = 0
    for game in read_games(tmp_path).games:
        state, over = game.start(rules), game.replay(rules)
        for ply, text in enumerate(game.moves):
            hand, seat = str(state.hand()), state.seat
            target = state.view().target if state.stage == "play" else None
            for stage, action in enumerate(Move.parse(text, rules).actions):
                row = rows.pop(0)
                assert (row["deal"], row["game"], row["ply"], row["stage"]) == (game.deal, game.game, ply, stage)
                assert (row["seat"], row["role"], row["hand"]) == (seat, state.role(), hand)
                assert row["agent"] == ("random" if game.seats[seat] == "a" else "rules")
                assert (row["move"], row["action"], row["legal"]) == (text, action, state.legal_actions())
                assert row["to_beat"] == (None if target is None else str(target[1]))
                assert row["observation"] == observe(state).tolist()
                assert (row["win"], row["stake"]) == (over.returns("win")[seat], over.returns("stake")[seat])
                assert (row["visits"], row["values"]) == (None, None)
                state.step_action(action)
                kickers += stage > 0
    assert rows == []
    assert kickers > 5


@needs_tables
def test_visits_stand_beside_the_actions_that_they_belong_to(tmp_path: Path) -> None:
    """In a game of which the first decision was searched."""
    start = State.new(1)
    over, moves = start.copy(), []
    while not over.is_over:
        moves.append(over.legal_moves()[0])
        over.step(moves[-1])
    first = [ActionStatistics(start.legal_actions()[2], 5, 0.25), ActionStatistics(start.legal_actions()[0], 7, None)]
    game = RecordedGame.of(start, moves, over, statistics=[first, *([] for _ in moves[1:])])
    Recording(("isuct",), visits=True).store(tmp_path / GAMES).add([game])
    write_data_set(tmp_path)
    rows = rows_of(tmp_path, ["legal", "visits", "values"])
    others = len(start.legal_actions()) - 3
    assert rows[0]["legal"] == start.legal_actions()
    assert rows[0]["visits"] == [7, 0, 5, *[0] * others]
    assert rows[0]["values"] == [None, None, 0.25, *[None] * others]
    assert {row["visits"] for row in rows[1:]} == {None}


@needs_tables
def test_tables_are_made_anew_only_where_games_came_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddz_training.data.dataset.DEALS_PER_TABLE", 2)
    record(tmp_path, "random", deals=3)
    write_data_set(tmp_path)
    first, second = (tmp_path / "decisions" / f"0000{number}.parquet" for number in range(2))
    before = first.stat().st_mtime_ns, second.read_bytes()
    record(tmp_path, "random", deals=4)
    write_data_set(tmp_path)
    assert first.stat().st_mtime_ns == before[0]
    assert second.read_bytes() != before[1]
    assert "4 games of Dou Dizhu" in (tmp_path / CARD).read_text(encoding="utf-8")


@needs_tables
def test_what_is_no_table_of_ours_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "text.parquet"
    with pytest.raises(DataSetError, match="there is no table at"):
        rows_of(tmp_path, ["action"])
    file.write_text("no table")
    with pytest.raises(DataSetError, match="is not a table: "):
        rows_of(tmp_path, ["action"])
    record(tmp_path, "random", deals=1)
    write_data_set(tmp_path)
    monkeypatch.setattr(table, "fingerprint", lambda: "another")
    with pytest.raises(DataSetError, match="write the tables again"):
        rows_of(tmp_path, ["action"])
    write_data_set(tmp_path)
    assert rows_of(tmp_path, ["action"]), "written again, as the error says"


HOSTILE: dict[str, tuple[Any, str]] = {
    "no column": (lambda table: table.drop(["legal"]), "no column legal"),
    "another type": (
        lambda table: changed(table, "action", lambda cells: [str(cell) for cell in cells]),
        "column action has the type string, not int16",
    ),
    "twice": (lambda table: table.append_column("action", table.column("action")), "two columns of one name"),
    "another layout": (lambda table: with_about(table, fingerprint="9" * 100_000), r"fingerprint '9{116}\.\.\., those"),
    "no names": (lambda table: table.replace_schema_metadata({b"ddz": b"[1]"}), "has no metadata of this package"),
    "another kind": (lambda table: with_about(table, kind="games"), "its kind is 'games'"),
    "deep names": (lambda table: table.replace_schema_metadata({b"ddz": b"[" * 100_000}), "is not a table"),
    "negative": (lambda table: changed(table, "legal", lambda cells: [[-1, -2]] * len(cells)), "action -2 is negative"),
    "illegal": (
        lambda table: changed(table, "action", lambda cells: [399] * len(cells)),
        "action 399 is not among its legal actions",
    ),
    "no visits": (lambda table: visited(table, 0), "its visits are all 0"),
    "negative visits": (lambda table: visited(table, -2), "visits must be 0 or more, not -2"),
    "few visits": (
        lambda table: changed(table, "visits", lambda cells: [[1]] * len(cells)),
        "legal actions need as many visits, not 1",
    ),
    "beyond": (lambda table: changed(table, "legal", lambda cells: [[1, 9999]] * len(cells)), "not a decision"),
    "nothing": (lambda table: changed(table, "legal", lambda cells: [None] * len(cells)), "not a decision"),
    "out of range": (
        lambda table: changed(table, "observation", lambda cells: [[-7] * len(cell) for cell in cells]),
        r"byte 0 of its observation is -7, outside 0\.\.",
    ),
}
"""What is done to a table, and what is said of it."""


def changed(table: Any, name: str, change: Callable[[list[Any]], list[Any]]) -> Any:
    import pyarrow as pa

    place, cells = table.schema.get_field_index(name), change(table.column(name).to_pylist())
    kind = table.schema.field(name).type if not isinstance(cells[0], str) else pa.string()
    return table.set_column(place, pa.field(name, kind), pa.array(cells, kind))


def with_about(table: Any, **changes: Any) -> Any:
    return table.replace_schema_metadata({b"ddz": json.dumps(json.loads(table.schema.metadata[b"ddz"]) | changes)})


def visited(table: Any, often: int) -> Any:
    legal = table.column("legal").to_pylist()
    return changed(table, "visits", lambda cells: [[often] * len(actions) for actions in legal])


@needs_tables
@pytest.mark.parametrize("case", HOSTILE)
def test_a_table_whose_rows_are_no_decisions_is_refused(case: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    record(tmp_path, "random", deals=1)
    write_data_set(tmp_path)
    [file] = table.list_tables(tmp_path)
    change, message = HOSTILE[case]
    pq.write_table(change(pq.read_table(file)), file)
    with pytest.raises(DouDizhuError, match=message):
        load_imitation_dataset(tmp_path)


@needs_tables
def test_what_a_table_says_of_results_teaches_nothing(tmp_path: Path) -> None:
    """Imitation reads no returns, so that those without a value harm no weights."""
    import pyarrow.parquet as pq

    record(tmp_path, "random", deals=1)
    write_data_set(tmp_path)
    [file] = table.list_tables(tmp_path)
    whole = load_imitation_dataset(tmp_path)
    for value in (math.inf, math.nan):
        pq.write_table(changed(pq.read_table(file), "win", lambda cells, value=value: [value] * len(cells)), file)
        same = load_imitation_dataset(tmp_path)
        assert all((vars(same)[name] == array).all() for name, array in vars(whole).items())


@needs_tables
def test_a_table_that_unpacks_to_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    record(tmp_path, "random", deals=1)
    write_data_set(tmp_path)
    [file] = table.list_tables(tmp_path)
    row = pq.read_table(file).slice(0, 1)
    pq.write_table(changed(row, "legal", lambda cells: [np.zeros(1 << 21, np.int16)]), file)
    monkeypatch.setattr(table, "MAX_BYTES", 1 << 20)
    assert file.stat().st_size < 1 << 20
    with pytest.raises(DataSetError, match=r"unpacks to 0.00"):
        rows_of(tmp_path, ["legal"])


@needs_tables
def test_the_fingerprint_is_of_the_layout_not_of_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    known, (hand, *others) = layouts.fingerprint(), OBSERVATION.features
    for first, alike in (
        (dataclasses.replace(hand, description="worded anew"), True),
        (dataclasses.replace(hand, name="cards"), False),
        (dataclasses.replace(hand, high=4), False),
    ):
        monkeypatch.setattr(layouts, "OBSERVATION", Layout((first, *others)))
        assert (layouts.fingerprint() == known) == alike


@needs_tables
def test_tables_know_the_rules_of_their_games_if_these_are_the_same(tmp_path: Path) -> None:
    for rules in ("standard", "mini"):
        record(tmp_path / rules, "random", deals=1, rules=Rules.preset(rules))
        write_data_set(tmp_path / rules)
        assert table.read_rules(tmp_path / rules) == Rules.preset(rules)
        (one,) = table.list_tables(tmp_path / rules)
        one.rename(tmp_path / f"{rules}.parquet")
    with pytest.raises(DataSetError, match="under different rules: mini and standard"):
        table.read_rules(tmp_path)


@pytest.mark.parametrize(("form", "extra"), [("parquet", "data"), ("minari", "minari")])
def test_a_missing_library_has_an_error_that_names_the_extra(
    form: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = ddz("record", "random", "--format", form, "--out", tmp_path / "games")
    assert (result.exit_code, f"pip install -e '.[{extra}]'" in result.output) == (2, True)
    assert not (tmp_path / "games" / GAMES).exists()


@needs_tables
def test_an_episode_is_the_rows_of_a_seat_and_what_it_saw_at_the_end(tmp_path: Path) -> None:
    minari, _ = pytest.importorskip("minari"), pytest.importorskip("h5py")
    folder, rules = tmp_path / "some games", Rules.preset("bidding")
    games = record(folder, "random", "rules", deals=1, rules=rules)
    made = write_data_set(folder)
    assert write_episodes(folder) == made
    rows = rows_of(folder, [column.name for column in COLUMNS])
    dataset = minari.MinariDataset(folder / "data")
    for number, episode in enumerate(dataset):
        [about] = dataset.storage.get_episode_metadata([number])
        mine = [row for row in rows if all(row[name] == about[name] for name in ("deal", "game", "seat"))]
        seen, masks = (episode.observations[name] for name in ("observation", "action_mask"))
        assert episode.actions.tolist() == [row["action"] for row in mine]
        assert seen[:-1].tolist() == [row["observation"] for row in mine]
        assert [np.flatnonzero(mask).tolist() for mask in masks] == [*(row["legal"] for row in mine), []]
        assert {(row["agent"], row["win"], row["stake"]) for row in mine} == {
            (about["agent"], about["win"], about["stake"])
        }
        [over] = [game.replay(rules) for game in games if (game.deal, game.game) == (about["deal"], about["game"])]
        assert (seen[-1] == observe(over, about["seat"])).all()
        assert episode.rewards.tolist() == [*[0.0] * (len(mine) - 1), over.returns()[about["seat"]]]
        assert np.flatnonzero(episode.terminations).tolist() == [len(mine) - 1]
        assert not episode.truncations.any()
    assert dataset.total_steps == len(rows)


@needs_tables
@pytest.mark.long
def test_episodes_are_written_once_and_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari, _ = pytest.importorskip("minari"), pytest.importorskip("h5py")
    folder, written = tmp_path / "mini-v0", tmp_path / "mini-v0" / "data" / "main_data.hdf5"
    for deals, told in ((1, "1 game, "), (2, "2 games, ")):
        for _ in range(2):
            result = ddz("record", "random", "--rules", "mini", "--deals", deals, "--format", "minari", "--out", folder)
            assert told in result.output, result.output
            before = written.stat().st_mtime_ns
        write_episodes(folder)
        assert written.stat().st_mtime_ns == before
    assert sorted(path.name for path in folder.iterdir()) == ["data", GAMES]
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = minari.load_dataset("mini-v0")
    assert (dataset.id, len(dataset)) == ("mini-v0", 4)
    assert dataset.recover_environment().observation_space == dataset.observation_space


@needs_tables
def test_games_are_recorded_and_replayed_from_the_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    record_them = ("record", "rules", "random", "--out", folder)
    for command, code, told in (
        ((*record_them, "--deals", 2, "--processes", 1), 0, "4 games, "),
        ((*record_them, "--seed", 4), 2, r"seed: the file has 0, this run 4\); name another file or folder"),
        (("replay", folder), 0, "4 games replay as recorded\n"),
        (("replay", folder, "--deal", 1, "--game", 1), 0, "Dou Dizhu game 1\n(.*\n)+# deal 1, game 1\n"),
        (("replay", folder, "--deal", 7), 2, "has no deal 7: it has deals from"),
    ):
        result = ddz(*command)
        assert (result.exit_code, bool(re.search(told, result.output))) == (code, True), result.output
    card = (folder / CARD).read_text(encoding="utf-8")
    assert "| `rules` | 6 | " in card
    yaml = pytest.importorskip("yaml")
    front = yaml.safe_load(card.split("---")[1])
    assert front["configs"][0]["data_files"][0]["path"] == "decisions/*.parquet"
    assert front["size_categories"] == ["n<1K"]


@needs_tables
@pytest.mark.parametrize("name", sorted(GAMES_OF_BOTZONE))
def test_matches_of_botzone_become_a_data_set(name: str, tmp_path: Path) -> None:
    logs = [play_botzone_match(GAMES_OF_BOTZONE[name], ["random", "rules", "random"], seed) for seed in (1, 2)]
    cut = dataclasses.replace(logs[0], entries=logs[0].entries[:9])
    file, folder = tmp_path / "matches.jsonl", tmp_path / "games"
    file.write_text("".join(map(str, (*logs, cut))), encoding="utf-8")
    result = ddz("record", "--from", file, "--out", folder)
    assert "2 games, " in result.output, result.output
    assert "left out, not played to their end: 1" in result.output
    for game, log in zip(read_games(folder).games, logs, strict=True):
        assert game.replay(log.game.rules) == log.replay()[0]
    assert "From matches.jsonl." in (folder / CARD).read_text(encoding="utf-8")


@needs_tables
def test_games_saved_by_the_page_become_a_data_set(tmp_path: Path) -> None:
    """Those that only one seat has seen, endgames and unfinished games are left out."""
    played = record(tmp_path / "played", "rules", "random", deals=2)
    saved = [game.to_saved_game(Rules(), ("person", "isuct:iterations=20")) for game in played]
    hand = saved[0].deal.hands[1]
    seen = Deal.from_one_hand(Rules(), 1, hand, saved[0].deal.bottom)
    puzzle = Deal(Rules(), hands=(*map(Hand.parse, ("34", "5", "6")),), bottom=Hand.parse(""), endgame=True)
    more = (
        SavedGame(seen, saved[0].players),
        SavedGame(puzzle, saved[0].players),
        dataclasses.replace(saved[0], moves=()),
    )
    pages = tmp_path / "pages"
    pages.mkdir()
    for number, each in enumerate((*saved, *more)):
        each.save(pages / f"{number}.game.txt")
    (pages / "puzzles.json").write_text("{}")
    made, left_out = import_games(tmp_path / "set", [pages])
    assert (made.games, left_out) == (4, 3)
    for folder, missing in ((pages, 3), (tmp_path / "set", 0), (tmp_path / "set" / GAMES, 0)):
        won, left_out = read_won_games(folder)
        assert (len(won), left_out) == (4, missing)
        assert [[*map(str, game.moves)] for game in won] == [[*game.moves] for game in played]
        assert won[0].players == saved[0].players
    file = read_games(tmp_path / "set")
    assert file.agents == ("person", "isuct:iterations=20")
    for game, before in zip(file.games, played, strict=True):
        assert (game.seats, game.moves, game.win) == (before.seats, before.moves, before.win)
        assert game.replay(file.rules).history == before.replay(Rules()).history
    rows = rows_of(tmp_path / "set", ["agent", "seat"])
    assert {(row["agent"], row["seat"]) for row in rows} == {(name, seat) for name in file.agents for seat in range(3)}


@needs_tables
def test_a_game_of_douzero_becomes_a_recorded_game(tmp_path: Path) -> None:
    """Played by its own engine."""
    game = pytest.importorskip("douzero.env.game")
    lines, moves = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        deck = rng.permutation([*range(3, 15), 17] * 4 + [20, 30]).tolist()
        hands = {"landlord": deck[:20], "landlord_down": deck[20:37], "landlord_up": deck[37:]}
        data = {role: sorted(cards) for role, cards in hands.items()} | {"three_landlord_cards": sorted(deck[17:20])}
        players = {role: UniformPlayer(rng) for role in hands}
        env = game.GameEnv(players)
        env.card_play_init({name: [*cards] for name, cards in data.items()})
        while not env.game_over:
            env.step()
        lines.append(json.dumps({"card_play_data": data, "card_play_action_seq": env.card_play_action_seq}))
        moves.append((env.winner, len(env.card_play_action_seq)))
    file = tmp_path / "douzero.jsonl"
    file.write_text("\n".join(lines))
    made, left_out = import_games(tmp_path / "set", [file])
    assert (made.games, left_out) == (5, 0)
    for kept, (winner, count) in zip(read_games(tmp_path / "set").games, moves, strict=True):
        assert (kept.win[0] > 0, len(kept.moves)) == (winner == "landlord", count)
        kept.replay(Rules.preset("douzero"))


def test_games_in_the_form_of_douzero_are_read(tmp_path: Path) -> None:
    """Written here, one a line, without its engine."""
    played = record(tmp_path, "random", rules=Rules.preset("douzero"))
    numbers = dict(zip("3456789TJQKA2BR", (*range(3, 15), 17, 20, 30), strict=True))

    def cards(text: str) -> list[int]:
        return [numbers[rank] for rank in text.replace("+", "")] if text != "pass" else []

    lines = []
    for game in played:
        roles = zip(("landlord", "landlord_down", "landlord_up"), game.hands, strict=True)
        dealt = {role: cards(hand + game.bottom * (role == "landlord")) for role, hand in roles}
        data = {**dealt, "three_landlord_cards": cards(game.bottom)}
        lines.append(json.dumps({"card_play_data": data, "card_play_action_seq": [*map(cards, game.moves)]}))
    file = tmp_path / "douzero.jsonl"
    file.write_text("\n".join(lines))
    won, left_out = read_won_games(file)
    assert (len(won), left_out) == (len(played), 0)
    assert [game.final_state().returns("win") for game in won] == [game.win for game in played]
    assert won[0].players == ("landlord", "landlord_down", "landlord_up")


class UniformPlayer:
    """Plays for DouZero's engine."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def act(self, infoset: Any) -> list[int]:
        return infoset.legal_actions[int(self._rng.integers(len(infoset.legal_actions)))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("Dou Dizhu game 1\nrules: texas\n", "texas"),
        ("{}", "not a log"),
        ('{"card_play_data": 3}', "is no game of DouZero"),
        ('{"card_play_data": {"landlord": [1]}, "card_play_action_seq": []}', "no.jsonl:1 is no game of DouZero"),
    ],
)
def test_what_holds_no_games_is_named(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "no.jsonl").write_text(text)
    with pytest.raises(DouDizhuError) as error:
        read_imported_games(tmp_path / "no.jsonl")
    assert message in str(error.value)


@needs_tables
def test_games_of_different_rules_or_without_an_end_make_no_data_set(tmp_path: Path) -> None:
    for preset in ("standard", "mini"):
        rules = Rules.preset(preset)
        SavedGame(Deal(rules, 1), ("person",) * rules.players).save(tmp_path / f"{preset}.game.txt")
    with pytest.raises(DataSetError, match="mini and standard"):
        import_games(tmp_path / "set", [tmp_path])
    with pytest.raises(DataSetError, match="nothing to record"):
        import_games(tmp_path / "set", [tmp_path / "mini.game.txt"])
    with pytest.raises(DataSetError, match="no complete game with a winner"):
        read_won_games(tmp_path)


@pytest.mark.long
def test_tianshou_learns_from_episodes_to_beat_random_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, *_ = [pytest.importorskip(library) for library in ("torch", "minari", "h5py", "tianshou")]
    from tests.integrations.tianshou import learn_offline

    folder = tmp_path / "games"
    record(folder, "rules", "random", deals=300)
    write_episodes(folder)
    monkeypatch.chdir(tmp_path)
    torch.save(learn_offline.train(folder).state_dict(), "offline.pt")
    learned = f"{learn_offline.__name__}:Learned"
    results = summarize(run_arena(Arena((learned, "random"), timing=False), 200, first_deal=40_000), "win")
    assert results[0].wins.low > 0.5


@needs_tables
@pytest.mark.long
@pytest.mark.parametrize("library", ["pandas", "polars", "datasets"])
def test_other_programs_read_the_tables(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    there = pytest.importorskip(library)
    record(tmp_path, "random", deals=3)
    write_data_set(tmp_path)
    ours = rows_of(tmp_path, ["action", "observation"])
    if library == "pandas":
        found = there.read_parquet(tmp_path / "decisions")
    elif library == "polars":
        found = there.scan_parquet(tmp_path / "decisions" / "*.parquet").collect()
    else:
        (train,) = there.load_dataset(str(tmp_path), cache_dir=str(tmp_path / "cache")).values()  # by the card
        found = train.with_format("numpy")
    assert [int(action) for action in found["action"]] == [row["action"] for row in ours]
    assert np.array_equal(np.stack(list(found["observation"])), [row["observation"] for row in ours])
