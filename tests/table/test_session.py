"""A game with people in it: what each seat may see, undo, records that replay exactly, advice and beliefs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_env import Hand, Move, Rules, State, View
from ddz_env.core.errors import DouDizhuError, GameOverError, IllegalMoveError, InvalidDealError
from ddz_env.playing.agent import Decision
from ddz_env.playing.thoughts import NOBODY, Belief, Candidate
from ddz_env.table.session import (
    PERSON,
    Deal,
    HiddenCardsError,
    NotYourTurnError,
    Record,
    RecordError,
    Replay,
    Session,
    SessionError,
)

STANDARD, BIDDING = Rules(), Rules.preset("bidding,doubling=true")
PEOPLE = (PERSON,) * 3


def new(seed: int, players: tuple[str, ...] = PEOPLE, rules: Rules = STANDARD) -> Session:
    return Session(Record(Deal(rules, seed), players))


def finished(seed: int, rules: Rules = STANDARD, player: str = "rules") -> Record:
    session = new(seed, (player,) * 3, rules)
    session.let_agents_play()
    return session.record()


def seen_from(record: Record, seat: int) -> tuple[Deal, Hand]:
    """The table of a game as one seat sees it at the beginning, and the landlord cards to be told later."""
    return Deal.seen(record.deal.state().view(seat)), record.deal.state(record.moves).bottom


# --- who sees what ----------------------------------------------------------------------------------------------------


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """The names of all fields of plain data, numbers of lists left out."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        for part in value:
            yield from leaves(part, path)
    else:
        yield path


FIELDS = {
    *(f"table.{name}" for name in ("rules", "stage", "viewer", "landlord", "landlord_cards", "landlord_backs")),
    *(f"table.{name}" for name in ("undealt", "stake", "highest_bid", "bombs", "moves", "on_lead", "building")),
    *(f"table.{name}" for name in ("winner", "spring", "robbing")),
    *(f"table.seats.{name}" for name in ("number", "role", "hand", "size", "play", "acting", "doubled", "result")),
    *(f"table.seats.play.{name}" for name in ("text", "category", "cards", "to_beat", "current")),
    *("players", "history", "waits_for", "legal", "decisions"),
}
"""What a viewer is told.  A new field is added here by somebody who has made sure that it hides what is hidden."""


@pytest.mark.parametrize(("rules", "games"), [(STANDARD, ((2, 0), (3, 2))), (BIDDING, ((4, 1), (7, 0)))])
def test_a_seat_is_told_the_same_whatever_the_others_hold(rules: Rules, games: tuple[tuple[int, int], ...]) -> None:
    """The true game and one with hands made up from what the seat sees differ in hidden cards alone."""
    found: set[str] = set()
    for seed, seat in games:
        record = finished(seed, rules)
        true, (deal, bottom) = new(seed, PEOPLE, rules), seen_from(record, seat)
        seen = Session(Record(deal, PEOPLE))
        differ = False
        for number, (mover, move) in enumerate(record.moves):
            told = true.sight(seat)
            assert told == seen.sight(seat)
            if number % 8 == 0:
                found.update(leaves(told.as_dict()))
                assert true.belief("rules", seat).as_dict() == seen.belief("rules", seat).as_dict()
            if mover == seat:
                assert true.hint("rules") == seen.hint("rules")
            hands = [[session._state.hand(place) for place in range(3)] for session in (true, seen)]
            differ = differ or hands[0] != hands[1]
            true.play(move, mover)
            seen.play(move, mover)
            if seen.needs_landlord_cards:
                seen.tell_landlord_cards(str(bottom))
        assert differ
        assert seen.is_over
    assert found == FIELDS
    assert [bool(new(1).sight(seat).legal) for seat in range(3)] == [True, False, False]  # whose turn it is


def test_all_hands_are_shown_when_nobody_is_playing_any_more() -> None:
    session = new(1, (PERSON, "rules", "rules"))
    session.play(session.hint("rules").move)
    for look in (session.sight, session.position):
        with pytest.raises(HiddenCardsError, match="a viewer has a seat"):
            look(None)
    assert isinstance(session.position(0), View)
    session.let_agents_play()
    with pytest.raises(HiddenCardsError, match="tells its cards"):
        session.thought(1, 0)
    while not session.is_over:
        session.play(session.hint("rules").move)
        session.let_agents_play()
    assert isinstance(session.position(None), State)
    assert not any(seat.unseen for seat in session.sight(None).table.seats)
    assert not any(seat.unseen for seat in session.sight(0, reveal=True).table.seats)
    assert isinstance(session.position(0), View)  # a seat goes on to see as a seat, unless all is to be revealed
    with pytest.raises(HiddenCardsError, match="ask as a spectator"):
        session.thought(1, 0)
    thought = session.thought(1, None)
    assert thought is not None
    assert (thought.agent, thought.move) == ("rules", session.moves[1][1])
    assert not any(seat.unseen for seat in new(1, ("rules",) * 3).sight(None).table.seats)  # agents have no secrets
    with pytest.raises(HiddenCardsError):
        session.sight(3)


def test_who_looks_at_hidden_cards_gives_no_advice() -> None:
    for ask in (new(1).hint, lambda agent: new(1).belief(agent, 1)):
        with pytest.raises(HiddenCardsError, match="ask another"):
            ask("cheating-uct")
    deal, _ = seen_from(finished(1), 1)
    with pytest.raises(HiddenCardsError, match="nobody knows"):
        Session(Record(deal, (PERSON, PERSON, "cheating-uct")))


# --- moves and the way back -------------------------------------------------------------------------------------------


def test_only_the_seat_to_act_moves() -> None:
    session = new(5, (PERSON, "rules", PERSON))
    with pytest.raises(NotYourTurnError, match="seat 0's turn"):
        session.play("pass", 2)
    with pytest.raises(NotYourTurnError, match="held by a person"):
        session.let_agent_play()
    before = session.record()
    with pytest.raises(IllegalMoveError):
        session.play("pass", 0)
    assert session.record() == before
    session.play(session.hint("rules").move, 0)
    with pytest.raises(NotYourTurnError, match="held by rules"):
        session.play("pass")
    assert [turn.seat for turn in session.let_agents_play()] == [1]
    with pytest.raises(NotYourTurnError, match="seat 2's turn"):
        session.hint("rules", 0)
    over = Session(finished(5))
    with pytest.raises(GameOverError):
        over.play("pass")
    with pytest.raises(NotYourTurnError, match="over"):
        over.let_agent_play()


def test_a_decision_taken_back_leaves_no_trace() -> None:
    """Agents that draw at random draw the same again, and the game ends as if nothing had been taken back."""

    def play_on(session: Session) -> None:
        session.let_agents_play()
        while not session.is_over:
            session.play(session.view(session.seat).legal_moves()[-1])
            session.let_agents_play()

    straight, crooked = new(8, (PERSON, "random", "random")), new(8, (PERSON, "random", "random"))
    play_on(straight)
    play_on(crooked)
    mine = crooked.sight(0).decisions
    assert len(mine) > 4
    taken = crooked.undo(mine[2])
    assert (taken.number, taken.move) == (mine[2], straight.moves[mine[2]][1])
    assert crooked.moves == straight.moves[: mine[2]]
    crooked.play(crooked.view(0).legal_moves()[0])
    crooked.let_agents_play()
    assert crooked.undo().number == mine[2]
    play_on(crooked)
    assert crooked.moves == straight.moves
    other = next(number for number in range(len(straight.moves)) if number not in mine)
    with pytest.raises(SessionError, match="no decision of yours"):
        crooked.undo(other)
    with pytest.raises(SessionError, match="nothing to take back"):
        crooked.undo(seat=1)
    with pytest.raises(SessionError, match="nothing to take back"):
        new(1).undo()


class Listener:
    """Remembers what it was told."""

    name = "listener"

    def __init__(self) -> None:
        self.heard: list[tuple[int, Move]] = []

    def reset(self, seat: int, rules: Rules) -> None:
        self.heard = []

    def observe(self, seat: int, move: Move) -> None:
        self.heard.append((seat, move))

    def act(self, view: View, rng: np.random.Generator) -> Move:
        assert self.heard == list(view.history)
        return view.legal_moves()[0]


def test_an_agent_has_heard_the_game_and_nothing_that_was_taken_back() -> None:
    agent = Listener()
    session = Session(Record(Deal(STANDARD, 8), (PERSON, "listener", PERSON)), {1: agent})
    session.play(session.view(0).legal_moves()[1])
    session.let_agents_play()
    session.play(session.hint("rules").move)
    session.undo(0)
    session.play(session.view(0).legal_moves()[0])
    session.let_agents_play()
    assert agent.heard == list(session.moves[:-1])
    resumed = Session(Record(session.deal, session.players, session.moves), {1: agent})
    while resumed.waits_for == PERSON:
        resumed.play(resumed.hint("rules").move)
    resumed.let_agents_play()
    assert len(agent.heard) >= 4


def test_new_cards_are_dealt_when_all_decline_and_can_be_taken_back() -> None:
    session = new(3, PEOPLE, BIDDING)
    first = [session.view(seat).hand for seat in range(3)]
    turns = [session.play("no bid") for _ in range(3)]
    assert [turn.redealt for turn in turns] == [False, False, True]
    assert [session.view(seat).hand for seat in range(3)] != first
    again = Record.parse(str(session.record()))
    assert Session(again).view(0).hand == session.view(0).hand
    session.undo(1)
    assert [session.view(seat).hand for seat in range(3)] == first


# --- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["standard", "bidding,doubling=true", "mini", "half-deck", "douzero"])
def test_a_record_reads_back_and_replays_exactly(rules: str, tmp_path: Path) -> None:
    preset = Rules.preset(rules)
    session = Session(Record(Deal(preset, seed=9, game=2), ("random",) * preset.players))
    for _ in range(6):
        session.let_agent_play()
    file = tmp_path / "games" / "half.txt"
    session.record().save(file)
    resumed = Session(Record.load(file))
    for one in (session, resumed):
        one.let_agents_play()
    assert resumed.record() == session.record()
    record = session.record()
    again = Record.parse(str(record))
    assert (again.deal, again.players, again.moves) == (record.deal, record.players, record.moves)
    assert [name.name for name in file.parent.iterdir()] == ["half.txt"]


def test_cards_that_are_given_read_back_too() -> None:
    puzzle = Deal(
        Rules.preset("standard,players=2,open_hands=true"),
        hands=(Hand.parse("KK5543"), Hand.parse("225543")),
        bottom=Hand.parse(""),
        endgame=True,
    )
    for deal in (puzzle, seen_from(finished(4, BIDDING), 2)[0]):
        players = (PERSON,) * deal.rules.players
        again = Record.parse(str(Record(deal, players)))
        assert (again.deal, again.players) == (deal, players)
    assert Session(Record(puzzle, (PERSON, "rules"))).sight(0).table.seats[1].unseen == 0  # open hands


NAMES = ("policy:path=/tmp/#1/w", "  person ", "person\n1 3", "a\rb", "rules\u2028", '"', '"rules"', "#", " ", "")
NAMES += ("\\", "a: b", "rules ", "b\udcffc", "策略:path=/家/w", "a\x00", "\ufeffrules", "\x85", "a" * 5_000)


def test_whatever_a_player_is_called_its_game_reads_back(tmp_path: Path) -> None:
    for name in NAMES:
        record = Record(Deal(STANDARD, 7), (name, PERSON, "policy:path=a b"), ((0, Move.parse("4")),), ("a remark",))
        record.save(tmp_path / "game.txt")
        again = Record.load(tmp_path / "game.txt")
        assert (again.deal, again.players, again.moves) == (record.deal, record.players, record.moves)
        assert "player 1: person\nplayer 2: policy:path=a b\n" in str(record)
        with pytest.raises(DouDizhuError):
            Session(again)  # none of them is a person


def test_what_makes_no_record_is_refused_when_it_is_made() -> None:
    for change in (
        {"players": ("rules", None, "rules")},
        {"players": ["rules"] * 3},
        {"players": ("rules",) * 2},
        {"players": "rules"},
        {"deal": None},
        {"remarks": ("two\nlines",)},
        {"remarks": (5,)},
    ):
        with pytest.raises(RecordError):
            replace(Record(Deal(STANDARD, 7), PEOPLE), **change)  # type: ignore[arg-type]


GOOD = str(Record(Deal(STANDARD, 7), PEOPLE, ((0, Move.parse("4")),)))
OBSERVED = "Dou Dizhu game 1\ncards: given\nseat 0: 3344567TJQQKA22BR\nlandlord cards: 359\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with"),
        ("Dou Dizhu game 2\n", "begins with"),
        (GOOD.replace("seed: 7", "seed: seven"), "seed is a whole number"),
        (GOOD.replace("seed: 7", "seed: 8"), "deals other hands"),
        (GOOD.replace("rules: standard", "rules: poker"), "the deal cannot be read: unknown rules preset"),
        (GOOD.replace("seed: 7", "seed: 7\nseed: 7"), "line 4: 'seed' stands twice"),
        (GOOD.replace("seed: 7", "seed: 7\ncolour: red"), "there is no 'colour'"),
        (GOOD + "2 pass\n", "line 12: it is seat 1's turn, not seat 2's"),
        (GOOD + "1 3\n", "line 12: 3 is not legal"),
        (GOOD + "pass\n", "line 12: a move is a seat and its move"),
        (GOOD.replace("player 1: person", 'player 1: "person'), "a player in quotes is a JSON string"),
        (GOOD + "1 zebra\n", "line 12: cannot read 'Z'"),
        (GOOD.replace("seed: 7", f"seed: {'9' * 5000}"), "seed is a whole number below 2**64"),
        (GOOD.replace("seed: 7", "seed: ٣"), "seed is a whole number below 2**64"),
        (GOOD + "9" * 5000 + " 3\n", "line 12: a move is a seat and its move"),
        ("Dou Dizhu game 1\ncards: given\n", "of 3 hands all are known, or one"),
        (OBSERVED + "7 3\n", "move 1, 3 of seat 7: there is no such seat"),
    ],
)
def test_what_is_no_record_is_refused_with_its_line(text: str, message: str) -> None:
    Record.parse(GOOD + "# a remark\n")
    with pytest.raises(RecordError) as refused:
        Record.parse(text)
    assert message in str(refused.value)


def test_whatever_is_changed_in_a_record_it_is_read_or_refused_by_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pieces = ("9" * 30, ":", "?", "\n", "seat 1: 3\n", "endgame: yes\n", "2 pass\n", "bid 3", "-1", "")
    refused = 0
    for text in (GOOD, OBSERVED + "0 3\n1 4\n"):
        for _ in range(100):
            start = int(rng.integers(len("Dou Dizhu game 1\n"), len(text)))
            end = start + int(rng.integers(0, 12))
            try:
                Record.parse(text[:start] + pieces[int(rng.integers(len(pieces)))] + text[end:])
            except RecordError:
                refused += 1
    assert refused > 100
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("none", "binary"):
        with pytest.raises(RecordError, match=name):
            Record.load(tmp_path / name)


# --- a table seen from one seat ---------------------------------------------------------------------------------------


def test_an_observed_table_refuses_what_cannot_have_been_played() -> None:
    own = Hand.parse("3334567TJQQKA22BR")
    table = Session(Record(Deal.observed(STANDARD, 1, own, Hand.parse("459")), PEOPLE))
    for look in (table.view, table.sight, lambda seat: table.hint("rules", seat)):
        with pytest.raises(HiddenCardsError, match="seen from seat 1"):
            look(0)
    for move, message in (("33", "5 cards of rank 3"), ("BR", "2 cards of rank B"), ("333", "6 cards")):
        with pytest.raises(IllegalMoveError, match=message):
            table.play(move)
    table.play("34567")  # one 3 is left, and the 4 and the 5 are the landlord's
    table.undo()
    assert table.moves == ()
    table.play("4")
    assert str(table.hint("rules").move) in table.sight(1).legal
    table.play("6")
    with pytest.raises(IllegalMoveError) as refused:
        table.play("5")
    assert str(refused.value) == "5 is not legal for seat 2: it does not beat 6"  # and no move of a made-up hand


def test_an_observed_auction_waits_for_the_landlord_cards() -> None:
    record = finished(4, BIDDING)
    deal, bottom = seen_from(record, 0)
    table = Session(Record(deal, PEOPLE))
    with pytest.raises(SessionError, match="not turned up"):
        table.tell_landlord_cards(str(bottom))
    while not table.needs_landlord_cards:
        table.play(record.moves[len(table.moves)][1])
    with pytest.raises(SessionError, match="tell them"):
        table.play(record.moves[len(table.moves)][1])
    for wrong in ("3", "zebra", f"{table.view(0).hand}"):
        with pytest.raises(DouDizhuError):
            table.tell_landlord_cards(wrong)
    table.tell_landlord_cards(str(bottom))
    kept = Session(Record.parse(str(table.record())))
    assert kept.sight(0) == table.sight(0)
    declined = Session(Record(deal, PEOPLE))
    for bid in range(2):
        declined.play("no bid")
        assert len(declined.moves) == bid + 1
    with pytest.raises(SessionError, match="another game"):
        declined.play("no bid")


@pytest.mark.parametrize(
    ("rules", "hand", "message"),
    [
        ("standard", "34567", "deals 17"),
        ("standard", "3334567TJQQKA22BR4", "deals 17"),
        ("perfect", "3334567TJQQKA22BR", "needs all hands"),
        ("half-deck", "3334567TJQQKA22BR", "unknown size"),
    ],
)
def test_a_table_needs_a_whole_hand_and_others_that_nobody_sees(rules: str, hand: str, message: str) -> None:
    with pytest.raises(InvalidDealError, match=message):
        Deal.observed(Rules.preset(rules), 0, Hand.parse(hand), Hand.parse("459"))


# --- advice and beliefs -----------------------------------------------------------------------------------------------


class Thinker:
    """Says that it prefers some moves to others."""

    name = "thinker"

    def __init__(self, unit: str = "chance", whole: bool = True) -> None:
        self.unit, self.whole = unit, whole

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        best = Move.parse("JJJ+4")
        values = {best.main: 0.75, Move.parse("3").main: 0.25}
        return Decision(best, {best.main: 30, Move.parse("3").main: 10}, values, best.actions, self.unit)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name == "candidates" and self.whole:
            return lambda view: [
                Candidate(Move.parse("JJJ+4"), 20, 0.8, (Move.parse("pass"),)),
                Candidate(Move.parse("3"), 10, 0.25),
                Candidate(Move.parse("JJJ+5"), 10, 0.65),
            ]
        raise AttributeError(name)


def advice_of(agent: Thinker) -> Any:
    session = Session(Record(Deal(STANDARD, 1), ("thinker", "rules", "rules")), {0: agent})  # type: ignore[dict-item]
    turn = session.let_agent_play()
    return session.thought(turn.number, None)


def test_advice_ranks_whole_moves_and_unfolds_their_kickers() -> None:
    advice = advice_of(Thinker())
    assert [option.text for option in advice.options] == ["JJJ+4", "3", "JJJ+5"]
    first, second = advice.groups
    assert [option.text for option in first.options] == ["JJJ+4", "JJJ+5"]
    assert (first.visits, first.chance) == (30, pytest.approx((20 * 0.8 + 10 * 0.65) / 30))
    assert (second.visits, second.chance, advice.chance) == (10, 0.25, 0.8)
    told = json.loads(json.dumps(advice.as_dict()))
    option = {"main": "trio+solo JJJ+", "move": "JJJ+4", "chance": 0.8, "score": None, "visits": 20, "line": ["pass"]}
    assert told["groups"][0]["options"][0] == {**option, "prior": None}


def test_advice_without_whole_moves_is_by_main_group_and_scores_are_no_chances() -> None:
    groups, scores = advice_of(Thinker(whole=False)), advice_of(Thinker("score", whole=False))
    assert [(option.text, option.chance, option.visits) for option in groups.options] == [
        ("JJJ+4", 0.75, 30),
        ("3", 0.25, 10),
    ]
    assert [(option.chance, option.score) for option in scores.options] == [(None, 0.75), (None, 0.25)]
    assert new(1).hint("rules").chance is None


@pytest.mark.parametrize(("rules", "bids"), [("standard", ()), ("bidding", ("bid 1",)), ("mini", ())])
def test_belief_without_inference_is_what_shuffling_gives(rules: str, bids: tuple[str, ...]) -> None:
    state = State.new(5, rules)
    for bid in bids:
        state.step(bid)
    seat = 1
    view = state.view(seat)
    belief = Belief.uniform(view)
    expected = belief.expected()
    nobody = len(view.unseen) - sum(size for place, size in enumerate(view.hand_sizes) if place != seat)
    sizes = [*view.hand_sizes, *[0] * (3 - len(view.hand_sizes)), nobody]
    assert expected.sum(axis=1) == pytest.approx(sizes)
    total = [a + b for a, b in zip(view.unseen.counts, view.hand.counts, strict=True)]
    assert expected.sum(axis=0) == pytest.approx(total)
    assert expected[seat].tolist() == list(view.hand.counts)
    known = np.array(view.known_cards.counts)
    worlds, rng = [], np.random.default_rng(1)
    pool = np.repeat(np.arange(15), np.array(view.unseen.counts) - known)
    room = [0 if place == seat else size - known.sum() * (place == view.landlord) for place, size in enumerate(sizes)]
    for _ in range(1200):
        parts = np.split(rng.permutation(pool), np.cumsum(room)[:-1])
        counts = [
            np.bincount(part, minlength=15) + known * (place == view.landlord) for place, part in enumerate(parts)
        ]
        counts[seat] = np.array(view.hand.counts)
        worlds.append([Hand(tuple(hand.tolist())).word for hand in counts])
    drawn = Belief.of_worlds(np.array(worlds, np.uint64), np.full(len(worlds), 1 / len(worlds)))
    assert np.abs(drawn.chances - belief.chances).max() < 0.06
    assert (belief.chances[NOBODY, :, 1].max() > 0) == (nobody > 0)


# --- replays ----------------------------------------------------------------------------------------------------------


def test_a_replay_goes_to_any_move_and_on_from_there() -> None:
    record = finished(6, BIDDING)
    replay = Replay(record)
    tables = []
    for number in range(len(record.moves) + 1):
        replay.go(number)
        tables.append(replay.sight(None).table)
    assert tables[-1].winner is not None
    for number in (5, 2, 17, 0):
        replay.go(number)
        assert (replay.number, replay.sight(None).table) == (number, tables[number])
        assert replay.next_move == record.moves[number]
    with pytest.raises(SessionError, match=r"in 0\.\."):
        replay.go(len(record.moves) + 1)
    replay.go(9)
    reviewed = list(replay.review("rules", [1]))
    assert {one.seat for one in reviewed} == {1}
    assert all(one.move == one.advice.move for one in reviewed)  # it played so itself
    replay.go(9)
    on = Session(replay.until_here(("rules", "rules", "rules")))
    on.let_agents_play()
    assert on.moves == record.moves
