"""Hints: the adviser's order behind certain wins, and no sentence that the cards or its own numbers contradict."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from ddz_env import Hand, Move, Rules, State, View
from ddz_env.core.actions import MAIN_GROUPS
from ddz_env.core.engine.layout import HIDDEN, ROW_WORDS
from ddz_env.core.engine.worlds import determinize
from ddz_env.playing.registry import make_agent
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_play.session import Advice, RankedMove, Replay, Session
from ddz_play.session.forced_wins import FewestMoves, ForcedWins
from ddz_play.session.reasons import explain
from ddz_play.texts import Texts
from ddz_play.winning_chances import ChanceEstimator, calibration_opponents
from tests.packages import ROOT, SOURCES

pytest.importorskip("torch")

RNG = np.random.default_rng
ADVISERS = ("policy", "neural-ismcts:milliseconds=20", "rules", "neural-ismcts:iterations=64")


def positions(count: int, rules: Rules, most: int) -> Iterator[tuple[State, Session]]:
    """Decisions between several moves, from games of the policy with some random moves among its own."""
    rng, policy = RNG(12), make_agent("policy")
    while count:
        seed, moves = int(rng.integers(2**32)), int(rng.integers(0, most))
        state, made = State.new(seed, rules), []
        for _ in range(moves):
            if not state.is_over:
                legal = state.legal_moves()
                chosen = policy.act(state.view(), rng) if rng.random() < 0.8 else legal[int(rng.integers(len(legal)))]
                made.append((state.seat, chosen))
                state.step(chosen)
        if not state.is_over and len(state.legal_moves()) > 1:
            count -= 1
            yield state, Session(SavedGame(Deal(rules, seed), (PERSON,) * 3, tuple(made)))


def worlds(view: View, rng: np.random.Generator) -> Iterator[State]:
    """Games that look to the seat like the one that is played."""
    for _ in range(20):
        row = np.empty(ROW_WORDS, np.uint64)
        determinize(view.row, np.uint64(view.seat), view.rule_words, np.uint64(rng.integers(2**63)), row)
        yield State(row, view.rules)


def wins(view: View, plan: Sequence[Move], rng: np.random.Generator) -> bool:
    """Whether a seat that plays its plan goes out first, though the others beat what they can."""
    for state in worlds(view, rng):
        own = iter(plan)
        while not state.is_over:
            if state.seat == view.seat:
                state.step(next(own))
            else:
                state.step(state.legal_moves()[-1])  # the first is to pass
        if state.winner != view.seat:
            return False
    return True


def beats(view: View, move: Move, seat: int, rng: np.random.Generator) -> bool:
    """Whether a seat can beat a move in some world."""
    for state in worlds(view, rng):
        state.step(move)
        while not state.is_over and state.seat != seat:
            state.step("pass")
        if len(state.legal_moves()) > 1:
            return True
    return False


def beaten_by(view: View, move: Move, rng: np.random.Generator) -> Iterator[Move]:
    """What the seats behind may beat a move with, in some worlds."""
    for state in worlds(view, rng):
        state.step(move)
        while not state.is_over and state.seat != view.seat:
            yield from (reply for reply in state.legal_moves() if not reply.is_pass)
            state.step("pass")


def fewest(hand: Hand, known: dict[Hand, int]) -> int:
    """The fewest moves that make up a hand, by trying every lead from every hand on the way."""
    if hand not in known:
        others = [rank for rank in "3456789TJQKA2BR" if rank not in str(hand)]
        leading = State.from_hands([str(hand), *others[:2]], check_sizes=False)
        rests = {hand - lead.cards for lead in leading.legal_moves()}
        known[hand] = 1 + min(fewest(rest, known) if len(rest) else 0 for rest in rests)
    return known[hand]


NAMES = {"10": "T", "the black joker": "B", "the red joker": "R", "the rocket": "BR", "+": ""}


def cards(text: str) -> Hand:
    """Cards as sentences name them."""
    for name, letters in NAMES.items():
        text = text.replace(name, letters)
    return Hand.parse(text)


def check_cards(said: str, view: View, move: Move, rival: Move | None, rng: np.random.Generator) -> set[str]:
    """Check what an explanation says of cards, and say which kinds of sentences it had."""
    kinds, rest = set(), view.hand - move.cards
    assert view.landlord is not None
    places = ("landlord", "peasant after the landlord", "peasant before the landlord")
    roles = {place: (view.landlord + steps) % 3 for steps, place in enumerate(places)}
    opponents = [seat for seat in range(3) if seat != view.seat and view.landlord in (seat, view.seat)]
    for role, left, more in re.findall(r"The ([a-z ]+) (?:has|with) (1|2|one|two) cards?( left| cannot beat it)", said):
        assert view.hand_sizes[roles[role]] == {"1": 1, "one": 1}.get(left, 2)
        assert more == " left" or not beats(view, move, roles[role], rng)
        kinds.add(more)
    for names in re.findall(r"It leaves (?:one move|two moves): ([^.]+)\.", said):
        parts = [cards(part) for part in names.split(" and ")]
        assert sum(parts[1:], parts[0]) == rest
        others = [rank for rank in "3456789TJQKA2BR" if rank not in str(rest)]
        leading = State.from_hands([str(rest), *others[:2]], check_sizes=False)
        assert set(parts) <= {lead.cards for lead in leading.legal_moves()}
        kinds.add("leaves")
    if "No opponent can beat it" in said:
        assert not any(beats(view, move, seat, rng) for seat in opponents)
        kinds.add("unbeatable")
    if "your partner's" in said:
        assert view.target is not None
        assert view.target[0] not in (view.landlord, view.seat)
        kinds.add("partner")
    for few, more in re.findall(r"leaves (\d+) moves instead of (\d+)", said):
        assert rival is not None
        assert [fewest(rest, {}), fewest(view.hand - rival.cards, {})] == [int(few), int(more)]
        kinds.add("fewer")
    if "partner plays next" in said:
        partner = (view.seat + 1) % 3
        assert view.landlord not in (view.seat, partner)
        assert "may beat" not in said or any(beats(view, move, partner, rng) for _ in range(20))  # or hardly
        kinds.add("next")
    assert "landlord must spend" not in said or view.landlord != view.seat
    for lowest in re.findall(r"(?:Only|must spend) ([^.,]+?) or higher", said):
        needed = MAIN_GROUPS[Move.parse(str(cards(lowest))).main].rank
        assert all(
            reply.category in ("bomb", "rocket") or reply.group.rank >= needed for reply in beaten_by(view, move, rng)
        )
        kinds.add("spends" if "must spend" in said else "lowest")
    for kept in re.findall(r"It (?:keeps|saves) ([^.]+?)(?: together)?\.", said):
        assert all(spent <= left for spent, left in zip(cards(kept).counts, rest.counts, strict=True))
        kinds.add("keeps")
    return kinds


@pytest.mark.parametrize("count", [24, pytest.param(1000, marks=pytest.mark.long)])
def test_hints_keep_the_advisers_order_and_say_what_is_true(count: int) -> None:
    chances, rng, kinds, silent = ChanceEstimator(), RNG(5), set[str](), 0
    for (state, session), adviser in zip(positions(count, Rules(), 60), itertools.cycle(ADVISERS)):
        view, asked = state.view(), session.hint(adviser)
        advice = chances.add_chances(view, asked)
        own, *others = advice.options
        assert len({str(one.move) for one in advice.options}) == len(advice.options) > 1
        assert (advice.move, advice.source) == (own.move, "critic")
        searched = [one.move for one in asked.options if one.move is not None]
        if own.certain:
            assert wins(view, [advice.move, *own.line], rng)
            assert own.chance == 1
        else:
            assert not any(one.certain for one in others)
            assert advice.move == asked.move
            assert [one.move for one in advice.options][: len(searched)] == searched[: len(advice.options)]
        assert all(one.chance == 1 if one.certain else 0 < one.chance < 1 for one in advice.options)  # type: ignore[operator]
        said = explain(advice, Texts(), view)
        assert ("It wins whatever" in said or "goes out" in said) == own.certain
        assert not own.certain or said.count(".") == 1  # and nothing besides
        best = max(one.chance for one in others)  # type: ignore[type-var]
        if verdict := re.search("Clearly|Slightly|About as good|close choice", said):
            lead = own.chance - best  # type: ignore[operator]
            assert {"Clearly": lead >= 0.1, "Slightly": lead >= 0.03, "close choice": lead <= -0.03}.get(
                verdict[0], True
            )
        assert "earch" not in said
        assert "policy" not in said
        about = check_cards(said, view, advice.move, others[0].move, rng)
        silent += not own.certain and not about and "at once" not in said and "Only" not in said
        kinds |= about
        assert explain(advice, Texts("zh"), view)
    assert {"leaves", "keeps", "unbeatable", "lowest", "fewer", "next", "spends"} <= kinds or count < 100
    assert silent <= count / 10  # the others have a reason in cards


@pytest.mark.parametrize(
    ("hands", "plan"),
    [
        (["2233", "AAKK", "QQJJ"], "22 33"),  # nobody has a higher pair
        (["R345678", "AAKK", "QQJJ"], "R 345678"),
        (["R34569", "AAKK", "QQJJ"], None),  # five moves are left
        (["2233", "AAKK", "BR"], None),  # somebody may hold the rocket
        (["2233", "AAKKB", "QQJJ"], "22 33"),
        (["33222", "AAAKK", "QQJJ"], "222+33"),
    ],
)
def test_a_certain_win_is_proved_from_what_is_unseen(hands: list[str], plan: str | None) -> None:
    state = State.from_hands(hands, check_sizes=False)
    view = state.view()
    view.row[HIDDEN] = np.uint64(sum(state.hand(seat).word for seat in (1, 2)))  # the rest of the deck is gone
    wins = ForcedWins(view)
    proved = {
        (str(move), *map(str, more))
        for move in view.legal_moves()
        if (more := wins.winning_line_after(move)) is not None
    }
    assert (plan is not None) == bool(proved)
    assert plan is None or tuple(plan.split()) in proved


@pytest.mark.parametrize(
    ("hand", "moves"), [("3", 1), ("34567", 1), ("3334568", 4), ("3334456789", 2), ("3344558", 2), ("33334567BR", 3)]
)
def test_the_fewest_moves_of_a_hand_are_counted(hand: str, moves: int) -> None:
    view = State.from_hands([hand, "AAKK", "QQJJ"], check_sizes=False).view()
    assert FewestMoves(view).count_moves(view.hand) == fewest(view.hand, {}) == moves


@pytest.mark.parametrize(
    ("chances", "more", "said"),
    [
        ((0.62, 0.51), {}, "Clearly better than 4."),
        ((0.62, 0.55), {}, "Slightly better than 4."),
        ((0.62, 0.55), {"noise": 0.1}, "About as good as 4."),
        ((0.62, 0.61), {"visits": 9}, "About as good as 4."),
        ((0.5, 0.6), {}, "A close choice: 4 may be better."),
        ((1.0, 0.3), {"certain": True, "line": (Move(2), Move(3))}, "whatever the others hold: next 4, then 5."),
        ((None, None), {}, "not compared"),
    ],
)
def test_sentences_say_why(chances: tuple[float | None, ...], more: dict[str, Any], said: str) -> None:
    options = tuple(RankedMove(place, Move(place), chance, **more) for place, chance in enumerate(chances, 1))
    advice = Advice("policy", 0, Move(1), options, source="critic")
    assert said in explain(advice, Texts(), State.new(1).view())


@pytest.mark.parametrize(
    ("players", "opponents"),
    [
        ((PERSON, "easy", "easy"), "easy"),
        ((PERSON, "rules", "hard"), "hard"),  # the agent that plays the level, by its own name
        ((PERSON, "easy", "hard"), "policy"),
        ((PERSON, "master", "master"), "policy"),
        ((PERSON, "random", "random"), "policy"),
        ((PERSON,) * 3, "policy"),
        ((), "policy"),
    ],
)
def test_chances_name_the_opponents_for_whom_they_hold(players: tuple[str, ...], opponents: str) -> None:
    assert calibration_opponents(players, 0) == opponents


@pytest.mark.parametrize(("player", "opponents"), [(PERSON, "hard"), ("hard", "policy")])
def test_a_review_has_a_levels_chances_for_a_person_alone(player: str, opponents: str) -> None:
    replay = Replay(SavedGame(Deal(Rules(), 4), (player, "hard", "hard")))
    assert ChanceEstimator().review(replay).opponents == opponents


def test_points_of_a_declined_bid_are_not_made_up() -> None:
    chances, said = ChanceEstimator(), set()
    for seed in range(12):
        state = State.new(seed, Rules.preset("bidding"))
        session = Session(SavedGame(Deal(state.rules, seed), (PERSON,) * 3))
        advice = chances.add_chances(state.view(), session.hint("rules"))
        declined = next(one for one in advice.options if advice.option_name(one) == "no bid")
        assert declined.score is None
        scores = [one.score or 0.0 for one in advice.options]
        assert scores == sorted(scores, reverse=True)
        said.add(re.sub(r"[\d.]+", "N", explain(advice, Texts(), state.view())))
    assert any("would lose" in line for line in said)


@pytest.mark.parametrize(
    ("hands", "move", "other", "said"),
    [
        (
            ["333355", "77778", "4"],
            "3333",
            "55",
            "It leaves one move: 55. Only a bomb or the rocket can beat it. The peasant before the",
        ),
        (["AAA5566", "KKK", "QQ8"], "AAA", "55", "It leaves two moves: 55 and 66. Only 222 or the rocket can beat it."),
        (["44BR2", "999", "KK"], "BR", "44", "No opponent can beat it."),
        (
            ["TT55", "KK", "Q"],
            "TT",
            "55",
            "The peasant after the landlord has 2 cards left. "
            "The peasant before the landlord with one card cannot beat it.",
        ),
    ],
)
def test_reasons_are_in_cards(hands: list[str], move: str, other: str, said: str) -> None:
    view = State.from_hands(hands, check_sizes=False).view(0)
    moves = [Move.parse(text) for text in (move, other)]
    options = tuple(RankedMove(one.main, one, 0.5) for one in moves)
    assert said in explain(Advice("policy", 0, moves[0], options, source="critic"), Texts(), view)


def test_the_page_says_by_how_much_its_chances_are_off() -> None:
    """What the table of the results says of each level, rounded."""
    page = (ROOT / "docs" / "measurements" / "policy-results.md").read_text(encoding="utf-8")
    table = page.partition("<!-- table: table-chances -->")[2].partition("<!-- end -->")[0]
    lines = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")
    ]
    place = lines[0].index("mean error (with sampling)")
    script = (SOURCES["ddz_play"] / "web" / "page" / "js" / "thoughts.js").read_text(encoding="utf-8")
    told = {name: int(error) for name, error in re.findall(r"(\w+): (\d+)", re.search(r"ERRORS = {(.*)}", script)[1])}
    measured = {line[0]: round(float(line[place].split()[0])) for line in lines[2:] if line[0] in told}
    assert measured == {level: told[level] for level in ("easy", "medium", "hard")}
