"""The arena: duplicate deals, statistics, results files; no search agents and no timing."""

from __future__ import annotations

import dataclasses
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.rules.agent import RulesAgent
from ddz_env import Move, Rules, State, View
from ddz_env.core.engine.layout import HANDS, SEAT
from ddz_env.playing.many import WaitingGames, Words
from ddz_env.support.errors import UnknownAgentError
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.duplicate import DealPlayer, GameResult, Match, list_seatings
from ddz_training.measure.errors import AgentFailedError, InvalidArenaError
from ddz_training.measure.statistics import normal_interval, wilson_interval
from ddz_training.measure.summaries import compare_agents, compute_standings, summarize, to_plain_values


class Broken:
    """Fails in every move."""

    name = "broken"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        raise ZeroDivisionError("no idea")


class Watcher:
    """Plays the lowest move and remembers the first hand that each seat showed it."""

    name = "watcher"

    def __init__(self, seen: list[tuple[str, int, str]], spec: str) -> None:
        self.seen, self.spec = seen, spec

    def reset(self, seat: int, rules: Rules) -> None:
        self.fresh = True

    def act(self, view: View, rng: np.random.Generator) -> Move:
        if self.fresh:
            self.seen.append((self.spec, view.seat, str(view.hand)))
            self.fresh = False
        return view.legal_moves()[-1]


def save(path: Path, arena: Arena, deals: int, processes: int = 1, resume: bool = False) -> list[GameResult]:
    return run_arena(arena, deals, processes=processes, store=arena.store(path, resume))


CONTEST = Arena(("random-staged", "random"), seed=5, timing=False)


def record(deal: int, game: int, seats: str, landlord_won: bool, stake: float = 2.0) -> GameResult:
    sign = 1.0 if landlord_won else -1.0
    who, winner = "x" if seats[0] == "a" else "y", "landlord" if landlord_won else "peasants"
    scores = (sign, -sign / 2, -sign / 2), (2 * stake * sign, -stake * sign, -stake * sign), (1.0, 2.0, 4.0)
    counts = {"moves": 40, "decisions_a": 10, "decisions_b": 30, "ms_a": 3.0, "ms_b": 1.0}
    return GameResult(deal, "x", "y", game, seats, 0, who, winner, *scores, **counts)


@pytest.mark.parametrize("preset", ["standard", "mini", "half-deck"])
def test_sides_swap_on_identical_cards(preset: str) -> None:
    seen: list[tuple[str, int, str]] = []
    rules = Rules.preset(preset)
    player = DealPlayer(rules, seed=3, timing=False, maker=lambda spec: Watcher(seen, spec))
    games = player.play(Match(7, ("one", "two")))
    hands = [str(State.new(3, rules, 7).hand(seat)) for seat in range(rules.players)]
    assert [game.seats for game in games] == ["abb"[: rules.players], "baa"[: rules.players]]
    first, second = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert [hand for _, _, hand in first] == [hand for _, _, hand in second]
    assert all(hand == hands[seat] for _, seat, hand in seen[:1] + second[:1])
    assert {(seat, spec) for spec, seat, _ in first} != {(seat, spec) for spec, seat, _ in second}
    assert (games[0].landlord_agent, games[1].landlord_agent) == ("one", "two")
    assert games[0].win == games[1].win  # the same agent on both sides: the same game


@pytest.mark.parametrize("preset", ["standard", "bidding"])
def test_records_add_up_and_auctions_rotate_the_seats(preset: str) -> None:
    rules = Rules.preset(preset)
    games = DealPlayer(rules, seed=1).play(Match(0, ("random", "random-staged")))
    assert [game.seats for game in games] == list(list_seatings(rules))
    for game in games:
        assert game.landlord_agent == ("random" if game.seats[game.landlord] == "a" else "random-staged")
        assert game.decisions_a + game.decisions_b == game.moves
        assert sum(game.win) == sum(game.stake) == 0
        assert (game.win[game.landlord] > 0) == (game.winner == "landlord")
        assert min(game.ms_a, game.ms_b) > 0
    assert list_seatings(Rules.preset("bidding")) == ("abb", "bab", "bba", "baa", "aba", "aab")


@pytest.mark.parametrize("contest", [CONTEST, Arena(("rules", "policy:temperature=1"), seed=5, timing=False)])
def test_same_file_for_every_number_of_processes(tmp_path: Path, contest: Arena) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    records = save(one, contest, 12)
    assert save(two, contest, 12, processes=2) == records
    assert one.read_bytes() == two.read_bytes()
    assert [(game.deal, game.game) for game in records] == [(deal, game) for deal in range(12) for game in range(2)]
    whole = one.read_bytes()
    one.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])  # a game of the last deal is missing
    one.with_suffix(".sqlite").unlink()
    assert save(one, contest, 12, resume=True) == records
    assert one.read_bytes() == whole


@pytest.mark.parametrize("preset", ["standard", "bidding", "mini"])
def test_games_side_by_side_are_those_played_one_by_one(preset: str) -> None:
    arena = Arena(("policy", "rules", "policy:temperature=1"), Rules.preset(preset), seed=3, timing=False)
    alone = DealPlayer(arena.rules, arena.seed, timing=False)
    found = run_arena(arena, 6)
    assert found == [
        game for deal in range(6) for pair in combinations(arena.agents, 2) for game in alone.play(Match(deal, pair))
    ]
    timed = run_arena(dataclasses.replace(arena, agents=arena.agents[:2], timing=True), 6)
    assert len({game.ms_a for game in timed if game.decisions_a}) == 1  # the batch's time, divided
    assert all(game.ms_a > 0 for game in timed if game.decisions_a)


class Nervous(RulesAgent):
    """Fails, alone and in batches, where it has one card left and must answer a move."""

    def act(self, view: View, rng: np.random.Generator) -> Move:
        if view.hand_sizes[view.seat] == 1 and not view.on_lead:
            raise RuntimeError("one card left")
        return super().act(view, rng)

    def act_many(self, waiting: WaitingGames) -> Words:
        hands = waiting.rows[np.arange(len(waiting.rows)), HANDS + waiting.rows[:, SEAT].astype(int)]
        if (hands & (hands - np.uint64(1)) == 0).any():
            raise RuntimeError("one card left")
        return super().act_many(waiting)


def test_a_fault_in_a_batch_loses_the_game_that_it_is_in() -> None:
    def player() -> DealPlayer:
        maker = lambda spec: Nervous() if spec == "bad" else RulesAgent()  # noqa: E731
        return DealPlayer(Rules(), 1, timing=False, maker=maker, on_fault="lose")

    block = [Match(deal, ("bad", "good")) for deal in range(20)]
    records = player().play_block(block)
    assert records == [player().play(match) for match in block]
    assert {game.fault_by for games in records for game in games} == {"", "a"}


def test_round_robin() -> None:
    arena = Arena(("random-staged", "random", "random"), seed=1, timing=False)
    assert arena.labels == ("random-staged", "random", "random #2")
    records = run_arena(arena, 2)
    pairs = [("random-staged", "random"), ("random-staged", "random #2"), ("random", "random #2")]
    assert [(game.a, game.b) for game in records[::2]] == pairs * 2
    table = compute_standings(records)
    assert {result.agent: result.games for result in table} == dict.fromkeys(arena.labels, 8)
    assert all(result.deals == 2 for result in table)
    assert [result.wins.mean for result in table] == sorted((result.wins.mean for result in table), reverse=True)


def test_an_agent_that_fails_in_any_process_is_named() -> None:
    arena = Arena((f"{__name__}:Broken", "random"), on_fault="stop")
    text = r"Broken' failed in seat 0 of deal 0.*ZeroDivisionError \(test_arena.py, line \d+\): no idea"
    for processes in (1, 2):
        with pytest.raises(AgentFailedError, match=text):
            run_arena(arena, 2, processes=processes)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(UnknownAgentError):
        run_arena(Arena(("random", "nobody")), 1)
    for wrong in ({"agents": ("random",)}, {"seed": -1}, {"on_fault": "win"}, {"names": ("a", "a")}):
        with pytest.raises(InvalidArenaError):
            dataclasses.replace(CONTEST, **wrong)  # type: ignore[arg-type]
    for numbers in ({"deals": 0}, {"deals": 1, "processes": 0}, {"deals": 1, "first_deal": -1}):
        with pytest.raises(InvalidArenaError, match="at least"):
            run_arena(CONTEST, **numbers)  # type: ignore[arg-type]


def test_summary_of_a_hand_worked_match() -> None:
    """Deal 0: x wins both.  Deal 1: the landlord wins twice.  Deal 2: x loses both."""
    games = [record(0, 0, "abb", True), record(0, 1, "baa", False), record(1, 0, "abb", True)]
    games += [record(1, 1, "baa", True, stake=4.0), record(2, 0, "abb", False), record(2, 1, "baa", True)]
    x, y = summarize(games)
    assert (x.agent, x.opponent, x.deals, x.games) == ("x", "y", 3, 6)
    assert (x.landlord_wins.mean, x.peasant_wins.mean) == (2 / 3, 1 / 3)
    assert x.wins.ends == pytest.approx(wilson_interval(1.5, 3).ends)  # a variance of 1/4, as three games have
    assert x.landlord_score.mean == pytest.approx(1 / 3)  # 1, 1, -1
    assert x.landlord_score.half_width == pytest.approx(1.959964 * math.sqrt(4 / 3) / math.sqrt(3), abs=1e-5)
    assert x.score.mean == 0.0  # 1, 0, -1
    assert x.score.half_width == pytest.approx(1.959964 / math.sqrt(3), abs=1e-5)
    assert y.score.mean == -x.score.mean
    assert y.landlord_wins.mean == pytest.approx(1 - x.peasant_wins.mean)
    assert (x.ms_per_decision, y.ms_per_decision) == (3.0, 1.0)
    stakes, _ = summarize(games, "stake")
    assert stakes.score.mean == pytest.approx((4 + (4 - 8) / 2 - 4) / 3)
    botzone, _ = summarize(games, "botzone")
    assert (botzone.landlord_score.mean, botzone.peasant_score.mean) == (1.0, 3.0)


def test_a_partner_sits_beside_each_agent_in_both_peasants_seats() -> None:
    arena = Arena(("rules", "random"), seed=3, timing=False, partner="random-staged")
    games = run_arena(arena, 20)
    assert [game.seats for game in games[:4]] == ["abc", "acb", "bac", "bca"]
    assert games == [
        game
        for deal in range(20)
        for game in DealPlayer(arena.rules, 3, timing=False).play(Match(deal, (*arena.agents, "random-staged")))
    ]
    assert {game.landlord_agent for game in games} == {"rules", "random"}
    strong, weak = summarize(games)
    assert (strong.deals, strong.games, strong.landlord_wins.count) == (20, 80, 40)
    assert strong.landlord_wins.mean == pytest.approx(1 - weak.peasant_wins.mean)
    assert strong.score.mean == pytest.approx(-weak.score.mean)
    assert strong.wins.mean > 0.6
    for preset in ("bidding", "mini"):
        with pytest.raises(InvalidArenaError, match="a partner needs three players and a fixed landlord"):
            Arena(("rules", "random"), Rules.preset(preset), partner="random")


@pytest.mark.parametrize("fault_by", ["b", "c"])
def test_a_partner_s_fault_is_lost_by_the_agent_beside_it(fault_by: str) -> None:
    game = dataclasses.replace(record(0, 0, "abc", True), fault_by=fault_by)
    x, y = summarize([game])
    assert (x.wins.mean, x.landlord_wins.mean, y.wins.mean, y.peasant_wins.mean) == (1, 1, 0, 0)
    assert (x.faults, y.faults) == (0, int(fault_by == "b"))


def test_two_agents_are_compared_on_the_deals_that_both_have_played_against_a_third() -> None:
    arena = Arena(("rules", "random", "random-staged"), seed=3, timing=False)
    games = run_arena(arena, 30)
    lines = compare_agents(games, "random")
    assert [(line.agent, line.opponent) for line in lines] == [("rules", "random-staged"), ("random-staged", "rules")]
    line = lines[0]
    rates = {(one.agent, one.opponent): one for one in summarize(games)}
    first, second = rates["rules", "random-staged"], rates["random", "random-staged"]
    for name in ("landlord_wins", "peasant_wins", "wins", "score"):
        assert getattr(line, name).mean == pytest.approx(getattr(first, name).mean - getattr(second, name).mean)
        assert getattr(line, name).count == 30
    apart = math.hypot(first.wins.half_width, second.wins.half_width)
    assert 0 < line.wins.half_width < 1.5 * apart
    some = [game for game in games if game.deal < 10 or "rules" not in (game.a, game.b)]
    assert compare_agents(some, "random")[0].wins.count == 10


def test_games_without_a_landlord_are_half_a_win() -> None:
    nobody = dataclasses.replace(record(0, 0, "abb", True), landlord=-1, winner="", win=(0, 0, 0))
    x, y = summarize([nobody])
    assert (x.wins.mean, y.wins.mean) == (0.5, 0.5)
    assert x.landlord_wins.count == y.peasant_wins.count == 0
    assert math.isnan(x.landlord_wins.mean)
    assert to_plain_values(x)["landlord_wins"]["mean"] is None


def test_intervals_against_figures_worked_by_hand() -> None:
    assert wilson_interval(8, 10).ends == pytest.approx((0.8, 0.490162, 0.943318), abs=1e-6)
    assert wilson_interval(0, 10).ends == pytest.approx((0.0, 0.0, 0.277533), abs=1e-6)
    normal = normal_interval([1, 2, 3, 4])
    assert (normal.mean, normal.half_width) == pytest.approx((2.5, 1.959964 * math.sqrt(5 / 3) / 2), abs=1e-6)
    assert all(map(math.isnan, (wilson_interval(0, 0).mean, normal_interval([1.0]).low, normal_interval([]).mean)))
