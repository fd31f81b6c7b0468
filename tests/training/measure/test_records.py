"""Strength from records: against a slow walk through games, on players whose strength is known, and its identities."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_agents.rules.agent import RulesAgent
from ddz_env import Move, Rules, State
from ddz_env.core.engine.layout import HANDS, MOVES, SEAT
from ddz_env.core.view import ROLES, View
from ddz_env.playing.game import AgentFaultError, make_seat_generators, notify_of_game, play_turn
from ddz_env.playing.many import WaitingGames, Words
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import UnknownAgentError
from ddz_training.data.recording import Recording, record_games
from ddz_training.data.sources import ImportedGame
from ddz_training.measure import records
from ddz_training.measure.errors import AgentFailedError, InvalidRecordsError
from ddz_training.measure.lead_runs import LeadRun
from ddz_training.measure.records import (
    GameLead,
    Positions,
    compare_with_agent,
    compute_game_leads,
    compute_kind_gains,
    estimate_strengths,
)
from ddz_training.measure.store import read_format
from tests.training.cli.terminal import done, refused

DRAWING = "policy:temperature=1"


@functools.cache
def played(*agents: str, deals: int = 20, rules: str = "standard") -> list[ImportedGame]:
    """Games of agents."""
    preset = Rules.preset(rules)
    games = record_games(Recording(agents, preset, seed=40), deals)
    return [ImportedGame(game.start(preset), [each.move for each in game.decisions(preset)], agents) for game in games]


class Watching(RulesAgent):
    """Plays as the rule agent, and fails where it is shown cards that its seat does not see."""

    def act_many(self, waiting: WaitingGames) -> Words:
        shown = waiting.rows[:, HANDS : HANDS + 3] != 0
        shown[np.arange(len(waiting.rows)), waiting.rows[:, SEAT].astype(np.int64)] = False
        assert not shown.any(), "another seat's cards"
        return super().act_many(waiting)


class Remembering:
    """Plays its first legal move, and fails where it was not told every move before."""

    def reset(self, seat: int, rules: Rules) -> None:
        self.told = list[Move]()

    def observe(self, seat: int, move: Move) -> None:
        self.told.append(move)

    def act(self, view: View, rng: np.random.Generator) -> Move:
        assert self.told == [move for _, move in view.history], "moves are missing"
        assert len(self.told) == view.row[MOVES]
        return view.legal_moves()[0]


class Failing(RulesAgent):
    """Fails in every move."""

    def act_many(self, waiting: WaitingGames) -> Words:
        raise ZeroDivisionError("no idea")


class Alone:
    """Is asked game by game, and fails."""

    def act(self, view: View, rng: np.random.Generator) -> Move:
        raise ZeroDivisionError("no idea")


def told(state: State, agents: Sequence[Any]) -> Sequence[Any]:
    """The agents of all seats, told of a game and of its moves so far."""
    for seat, agent in enumerate(agents):
        notify_of_game(agent, seat, state.rules, state.history)
    return agents


def finished(state: State, agents: Sequence[Any]) -> State:
    """The end of a game that agents play on in their seats, asked game by game."""
    state, rngs = state.copy(), make_seat_generators([0], len(agents))
    told(state, agents)
    while not state.is_over:
        play_turn(state, agents, rngs)
    return state


def landlord_won(over: State) -> int:
    return int(over.winner is not None and over.role(over.winner) == "landlord")


def walked(games: Sequence[ImportedGame], spec: str) -> list[tuple[int, str, bool, float]]:
    """Every decision's game, role, agreement and gain, by playing each position to its end."""
    agents, found = [make_agent(spec) for _ in range(3)], list[tuple[int, str, bool, float]]()
    for number, game in enumerate(games):
        state = game.start.copy()
        for move in game.moves:
            before, role = state.copy(), state.role()
            state.step(move)
            if role is not None and before.stage == "play" and len(before.legal_moves()) > 1:
                change = landlord_won(finished(state, agents))
                change -= landlord_won(finished(before, agents))
                same = told(before, agents)[before.seat].act(before.view(), np.random.default_rng(0)) == move
                found.append((number, role, same, change if role == "landlord" else -change))
    return found


@pytest.mark.parametrize(
    ("agent", "players", "rules"),
    [
        ("policy", "rules", "standard"),
        ("rules", "random", "douzero"),
        ("policy-v1", "policy", "bidding"),
        (f"{__name__}:Remembering", "rules", "bidding"),
    ],
)
def test_every_decision_has_the_gain_that_a_slow_walk_finds(agent: str, players: str, rules: str) -> None:
    games = played(players, deals=3, rules=rules)
    decisions = compare_with_agent(Positions.of(games), agent).decisions
    columns = decisions.games, decisions.roles, decisions.agreed, decisions.gains
    ours = zip(*(column.tolist() for column in columns), strict=True)
    assert [(game, ROLES[role], bool(same), gain) for game, role, same, gain in ours] == walked(games, agent)


@pytest.mark.parametrize(("agent", "repeats"), [("rules", 1), ("policy", 1), (DRAWING, 3)])
def test_the_changes_of_a_game_add_up_to_its_result_less_the_agents_own(agent: str, repeats: int) -> None:
    games = played("rules", "random")
    leads = compute_game_leads(compare_with_agent(Positions.of(games), agent, repeats=repeats), first_game=7)
    assert [lead.game for lead in leads] == list(range(7, 7 + len(games)))
    for lead, game in zip(leads, games, strict=True):
        difference = lead.landlord - lead.peasant_down - lead.peasant_up
        assert difference == pytest.approx(lead.landlord_won - lead.agent_landlord_won)
        assert lead.landlord_won == landlord_won(game.final_state())
        if agent != DRAWING:
            assert lead.agent_landlord_won == landlord_won(finished(game.start, [make_agent(agent)] * 3))


def test_an_agent_leads_itself_by_nothing_and_agrees_with_all_its_moves() -> None:
    [strength] = estimate_strengths(compute_game_leads(compare_with_agent(Positions.of(played("rules")), "rules")))
    assert strength.wins.ends == (0.5, 0.5, 0.5)
    assert [role.ends for role in strength.roles] == [(0, 0, 0)] * 3
    assert strength.agreement.mean == 1


def test_the_order_of_players_is_that_of_matches() -> None:
    """Random play is far below the rule agent, and the policy above it."""
    [random] = estimate_strengths(
        compute_game_leads(compare_with_agent(Positions.of(played("random", deals=40)), "rules"))
    )
    assert random.wins.low > 0.7
    assert max(role.high for role in random.roles) < 0
    [policy] = estimate_strengths(
        compute_game_leads(compare_with_agent(Positions.of(played("policy", deals=200)), "rules"))
    )
    assert policy.wins.high < 0.5


def test_a_drawing_agent_draws_by_the_seed_and_is_steadier_when_it_repeats() -> None:
    positions = Positions.of(played("rules"))
    once, again, other = (compare_with_agent(positions, DRAWING, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(once.decisions.gains, again.decisions.gains)
    assert not np.array_equal(once.decisions.gains, other.decisions.gains)
    often = compare_with_agent(positions, DRAWING, repeats=6, seed=1)
    assert np.ptp(often.decisions.gains) <= 2
    spreads = [estimate_strengths(compute_game_leads(comparison))[0].wins.half_width for comparison in (often, once)]
    assert spreads[0] < spreads[1]


def test_results_do_not_depend_on_how_many_positions_are_finished_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    positions, calls = Positions.of(played("random", deals=3)), list[tuple[int, int]]()
    whole = compare_with_agent(positions, DRAWING, repeats=2)
    monkeypatch.setattr(records, "_POSITIONS_AT_ONCE", 40)
    parts = compare_with_agent(positions, DRAWING, repeats=2, on_progress=lambda *counts: calls.append(counts))
    assert np.array_equal(whole.decisions.gains, parts.decisions.gains)
    assert calls == sorted(calls)
    assert calls[-1] == (2 * len(whole.decisions.games),) * 2


def test_who_finishes_a_game_sees_what_its_seat_sees() -> None:
    positions = Positions.of(played("random", deals=3))
    watching = compare_with_agent(positions, f"{__name__}:Watching")
    assert np.array_equal(watching.decisions.gains, compare_with_agent(positions, "rules").decisions.gains)


def test_agents_are_compared_on_the_same_games() -> None:
    positions = Positions.of(played("rules", "random"))
    leads = [lead for agent in ("rules", "policy") for lead in compute_game_leads(compare_with_agent(positions, agent))]
    rules, policy = estimate_strengths(leads)
    assert rules.over_first.ends == (0, 0, 0)
    assert policy.over_first.mean == pytest.approx(policy.wins.mean - rules.wins.mean)
    assert policy.over_first.low < policy.over_first.mean < policy.over_first.high
    assert sum(role.mean for role in policy.roles) / 2 == pytest.approx(0.5 - policy.wins.mean)


def test_kinds_of_move_add_up_to_the_lead_and_the_costliest_comes_first() -> None:
    comparison = compare_with_agent(Positions.of(played("random", deals=40)), "rules")
    leads, kinds = compute_game_leads(comparison), compute_kind_gains(comparison)
    assert [kind.per_game for kind in kinds] == sorted(kind.per_game for kind in kinds)
    for role in ROLES:
        own = [kind for kind in kinds if kind.kind.role == role]
        assert sum(kind.per_game for kind in own) == pytest.approx(np.mean([getattr(lead, role) for lead in leads]))
    assert sum(kind.decisions for kind in kinds) == sum(lead.decisions for lead in leads)
    assert sum(kind.decisions * kind.agreed for kind in kinds) == pytest.approx(sum(lead.agreed for lead in leads))
    assert not [kind for kind in kinds if kind.kind.lead and kind.kind.category == "pass"]


@pytest.mark.parametrize(
    ("hands", "moves", "mover", "landlord_won"),
    [
        (("32", "K", "44"), ("3", "K"), "landlord", False),  # 2 and 3 would have won
        (("35", "4K", "6"), ("3", "4", "pass", "5"), "peasant_up", True),  # 6 would have won
    ],
)
def test_a_blunder_costs_its_mover_the_game(
    hands: Sequence[str], moves: Sequence[str], mover: str, landlord_won: bool
) -> None:
    start = State.from_hands(hands, check_sizes=False)
    comparison = compare_with_agent(Positions.of([ImportedGame(start, [*map(Move.parse, moves)], ())]), "rules")
    [lead] = compute_game_leads(comparison)
    assert (getattr(lead, mover), lead.landlord_won) == (-1, landlord_won)
    decisions = comparison.decisions
    [blunder] = np.flatnonzero((decisions.gains == -1) & (decisions.roles == ROLES.index(mover)))
    assert not decisions.agreed[blunder]


def test_games_that_say_nothing_and_agents_that_fail_are_refused() -> None:
    with pytest.raises(InvalidRecordsError, match="of none"):
        Positions.of([])
    with pytest.raises(InvalidRecordsError, match="of douzero and standard"):
        Positions.of([*played("rules", deals=1), *played("rules", deals=1, rules="douzero")])
    unfinished = played("rules", deals=1)[0]._replace(moves=[])
    with pytest.raises(InvalidRecordsError, match="record 1 has no winner"):
        Positions.of([*played("rules", deals=1), unfinished])
    positions = Positions.of(played("rules", deals=1))
    with pytest.raises(UnknownAgentError):
        compare_with_agent(positions, "ghost")
    with pytest.raises(AgentFaultError, match="no idea"):
        compare_with_agent(positions, f"{__name__}:Failing")


def test_the_command_prints_the_comparison_and_writes_it_game_by_game(tmp_path: Path) -> None:
    recording = Recording(("rules", "random"), seed=40)
    record_games(recording, 4, store=recording.store(tmp_path / "games.sqlite"))
    line = ("benchmark", "records", tmp_path, "--agent", "rules", "--agent", "policy", "--first-game", 2, "--games", 5)
    shown = done(*line, "--out", tmp_path / "leads.csv").output
    assert "5 games of rules, random · standard rules" in shown
    assert "over rules" in shown
    assert "Kinds of move, gains over rules" in shown
    settings, leads = read_format(tmp_path / "leads.csv", GameLead, "ddz-records-1")
    positions = Positions.of(played("rules", "random", deals=4)[2:7])
    assert leads == [
        lead for agent in ("rules", "policy") for lead in compute_game_leads(compare_with_agent(positions, agent), 2)
    ]
    assert (settings["players"], settings["repeats"]) == ("rules, random", 1)
    assert {*settings["files"]} == {"policy"}
    assert [*settings["games"]] == ["games.sqlite"]
    assert "written under other settings (repeats: " in refused(*line, "--repeats", 2, "--out", tmp_path / "leads.csv")
    again = done(*line, "--out", tmp_path / "leads.csv").output
    assert "Kinds of move" not in again, "nothing is left to be measured"
    assert shown.startswith(again.rstrip("\n"))
    assert "of at most 18 cards" in refused(*line, "--agent", "cheating-minimax")
    assert "has 8 games with a winner, 4 of them from --first-game 4 on: needed are" in refused(
        *line[:3], "--first-game", 4, "--games", 5
    )


def test_an_agent_that_is_asked_game_by_game_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    games = played("rules", deals=3)
    searching = "isuct:iterations=12"
    positions, part, whole = Positions.of(games, 5), LeadRun(games[:1], 5, seed=3), LeadRun(games, 5, seed=3)
    part.measure_one_by_one(searching, part.store(tmp_path / "leads.csv", (searching,)))
    store, calls = whole.store(tmp_path / "leads.csv", (searching,)), list[tuple[int, int]]()
    whole.measure_one_by_one(searching, store, processes=2, on_progress=lambda *counts: calls.append(counts))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert store.results == compute_game_leads(compare_with_agent(positions, searching, seed=3), 5)
    with pytest.raises(AgentFailedError, match=r"Alone' failed in game 5, seat 0, in act: ZeroDivisionError"):
        whole.measure_one_by_one(f"{__name__}:Alone", whole.store(None, ()))
    with pytest.raises(InvalidRecordsError, match="of douzero and standard"):
        LeadRun([*games, *played("rules", deals=1, rules="douzero")])
