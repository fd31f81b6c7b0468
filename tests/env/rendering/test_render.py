"""Pictures of the table: what they show, what they hide, and that they are the same every time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddz_env import Move, Rules, State
from ddz_env.rendering import InvalidPictureError, Window, render_ansi, render_rgb, take_snapshot
from ddz_env.rendering.snapshot import Cards, LastMove
from tests.hidden import twin_games
from tests.packages import ROOT

PICTURE = ROOT / "docs" / "images" / "table.png"
GOLDEN = ROOT / "tests" / "data" / "render_seed7.txt"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
AUCTION = Rules.preset("bidding", doubling=True)
ROBBING = Rules.preset("robbing", doubling=True, showing=True)


def after(state: State, *moves: str) -> State:
    """A game after some moves; of one with dots behind it the last kicker is still to be chosen."""
    for text in moves:
        move = Move.parse(text.rstrip("."), state.rules)
        for action in move.actions[:-1] if text.endswith(".") else move.actions:
            state.step_action(action)
    return state


def demo_game(seed: int, moves: int, rules: str = "standard") -> State:
    """A game after some moves of somebody who leads long moves of at most four cards, so that hands stay long."""
    state = State.new(seed=seed, rules=rules)
    for _ in range(moves):
        if state.is_over:
            break
        legal = state.legal_moves()
        if state.view().on_lead:
            state.step(max((move for move in legal if len(move.cards) <= 4), key=lambda move: len(move.cards)))
        else:
            state.step(legal[min(1, len(legal) - 1)])
    return state


def dealt(*moves: str, hands: list[str]) -> State:
    return after(State.from_hands(hands, check_sizes=False), *moves)


def auction(*moves: str) -> State:
    return after(State.new(seed=2, rules=AUCTION), "bid 1", *moves)


def robbing(*moves: str) -> State:
    return after(State.new(seed=2, rules=ROBBING), "call", "no rob", *moves)


GAMES: dict[str, Callable[[], State]] = {
    "start": lambda: State.new(seed=7),
    "middle": lambda: demo_game(7, 12),
    "over": lambda: demo_game(7, 500),
    "kicker": lambda: dealt("333444+5566...", hands=["3334445566", "7", "8"]),
    "auction": auction,
    "doubling": lambda: auction("no bid", "bid 2", "double"),
    "robbing": robbing,
    "may show": lambda: robbing("rob", "rob"),
    "shown": lambda: robbing("rob", "no rob", "show"),
    "declined": lambda: after(State.new(seed=4, rules="openspiel"), *["no bid"] * 3),
    "spring": lambda: dealt("3", hands=["3", "4", "5"]),
    "mini": lambda: demo_game(3, 3, "mini"),
    "mini over": lambda: demo_game(3, 500, "mini"),
    "half deck": lambda: demo_game(3, 5, "half-deck"),
    "half deck, open": lambda: demo_game(3, 5, "half-deck-open"),
    "perfect": lambda: demo_game(3, 5, "perfect"),
}
PACK = "3333444455556666777788889999TTTTJJJJQQQQKKKKAAAA2222BR"
SEATS = [PACK[:17], PACK[17:34], PACK[34:51]]


@pytest.fixture(params=list(GAMES))
def game(request: pytest.FixtureRequest) -> State:
    return GAMES[request.param]()


def test_golden_text() -> None:
    """To renew: PYTHONPATH=. python tests/env/rendering/test_render.py."""
    assert golden_text() == GOLDEN.read_text(encoding="utf-8")


def golden_text() -> str:
    pictures = [
        f"# {name}, perspective {perspective}\n{render_ansi(make(), perspective=perspective, colour=False)}\n"
        for name, make in GAMES.items()
        for perspective in (None, 1)
    ]
    return "\n".join(pictures)


def test_colours_change_no_letter(game: State) -> None:
    plain, coloured = render_ansi(game, colour=False), render_ansi(game)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    stripped = [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()]
    assert stripped == plain.splitlines()
    red, black = (set(re.findall(rf"(\x1b\[[0-9;]+m)(?:.[{suits}])", coloured)) for suits in ("♥♦", "♠♣"))
    assert not red & black


SUIT_RULES = [
    *map(Rules.preset, ("standard", "mini", "half-deck", "half-deck-open", "perfect")),
    Rules.preset("openspiel,all_decline=first-seat"),
    AUCTION,
    ROBBING,
]


@pytest.mark.parametrize("perspective", [None, 0, 1, 2])
@pytest.mark.parametrize("rules", SUIT_RULES, ids=lambda rules: rules.name)
def test_a_card_keeps_its_suit(rules: Rules, perspective: int | None) -> None:
    """A suit that an observer has seen stays the same: landlord cards, hands, moves that still lie on the table."""
    if perspective is not None and perspective >= rules.players:
        return
    rng, state = np.random.default_rng(5), State.new(2, rules)
    bottom: Cards = ()
    hands: dict[int, Cards] = {}
    plays: dict[int, LastMove] = {}
    while True:
        table = take_snapshot(state, perspective)
        assert not bottom or table.landlord_cards == bottom
        bottom = table.landlord_cards
        for seat in table.seats:
            fresh = set(seat.hand) - set(hands.get(seat.number, seat.hand))
            now_shown = state.stage == "double" and state.view(0).is_shown
            assert not fresh or (seat.number == table.landlord and (now_shown or fresh <= set(bottom)))
            if seat.play is not None and state.history[-1][0] != seat.number and seat.number in plays:
                assert seat.play.cards == plays[seat.number].cards
            hands[seat.number] = seat.hand
            if seat.play is not None:
                plays[seat.number] = seat.play
        if state.is_over:
            break
        legal = state.legal_moves()
        state.step("show" if state.stage == "show" else legal[int(rng.integers(len(legal)))])


def test_narrow_lines_hold_twenty_cards() -> None:
    """The longest hands, plays and extras of a game fit 80 columns; wide lines keep their gaps."""
    doubled = State.from_hands(SEATS, PACK[51:], "bidding,doubling=true,bidding=once")
    after(doubled, "bid 3", "double", "double", "double")
    assert len(doubled.hand()) == 20
    long = dealt("333444555666777+89TJQ", hands=["33344455566677789TJQ", "8", "9"])
    for state in (doubled, long, State.new(3)):
        for perspective in (None, 0, 1, 2):
            text = render_ansi(state, perspective=perspective, colour=True, width=80)
            assert max(len(ESCAPE.sub("", line)) for line in text.splitlines()) <= 80
    seat = doubled.history[0][0]
    line = render_ansi(doubled, width=80, colour=False).splitlines()[2 + seat]
    assert re.sub("[♠♥♣♦]", "", line).split()[-2:] == [str(doubled.hand(seat)), "×2"]
    assert render_ansi(doubled, width=200) == render_ansi(doubled)


def test_sizes_roles_turns_and_cards_are_those_of_the_game(game: State) -> None:
    """Hands and the cards of the last moves share no card, and no rank has a fifth copy."""
    seats = range(game.rules.players)
    for perspective in (None, *seats):
        table = take_snapshot(game, perspective)
        assert [seat.size for seat in table.seats] == [len(game.hand(seat)) for seat in seats]
        assert [seat.acting for seat in table.seats] == [not game.is_over and seat == game.seat for seat in seats]
        assert [seat.role == "landlord" for seat in table.seats] == [game.role(seat) == "landlord" for seat in seats]
        assert table.stake == game.view().stake
        assert [seat.result for seat in table.seats] == [*(game.returns() if game.is_over else [None] * len(seats))]
        played = sum(len(move.cards) for _, move in game.history)
        bottom = game.rules.bottom if table.landlord is None else 0
        on_table = played + bottom + len(table.left_out)
        assert table.undealt == sum(game.rules.deck) - on_table - sum(seat.size for seat in table.seats)
        cards = [card for seat in table.seats for card in (*seat.hand, *(seat.play.cards if seat.play else ()))]
        assert len(set(cards)) == len(cards)
        assert all(card.copy < game.rules.deck[card.rank] for card in cards)


def test_a_view_shows_what_the_perspective_shows(game: State) -> None:
    for seat in range(game.rules.players):
        assert render_ansi(game.view(seat)) == render_ansi(game, perspective=seat)
        assert (render_rgb(game.view(seat)) == render_rgb(game, perspective=seat)).all()


@pytest.mark.parametrize(
    ("rules", "observer"),
    [("standard", 0), ("standard", 1), ("standard", 2), ("bidding,doubling=true", 0), ("half-deck", 1), ("mini", 1)],
)
def test_hidden_cards_do_not_reach_the_picture(rules: str, observer: int) -> None:
    games = twin_games(rules, observer)
    for number in range(len(games[0].moves) + 1):
        one, two = (record.deal.state(record.moves[:number]) for record in games)
        assert render_ansi(one, perspective=observer) == render_ansi(two, perspective=observer)
        if number % 16 == 0:
            assert (render_rgb(one, perspective=observer) == render_rgb(two, perspective=observer)).all()
            assert (render_rgb(one) != render_rgb(two)).any()


def test_face_down_landlord_cards_do_not_reach_the_picture() -> None:
    one = State.from_hands(SEATS, PACK[51:], "bidding", seed=1)
    two = State.from_hands([PACK[:17], PACK[17:31] + PACK[51:], PACK[34:51]], PACK[31:34], "bidding", seed=1)
    assert (render_rgb(one) != render_rgb(two)).any()
    for observer in (0, 2):
        assert render_ansi(one, perspective=observer) == render_ansi(two, perspective=observer)
        assert (render_rgb(one, perspective=observer) == render_rgb(two, perspective=observer)).all()


def test_a_half_built_move_is_its_seats_secret() -> None:
    state, waiting = GAMES["kicker"](), dealt(hands=["3334445566", "7", "8"])
    building = take_snapshot(state).building
    assert take_snapshot(state, 0).building == building
    assert building is not None
    assert "".join(str(card)[0] for card in building.cards) == "33344455"
    assert (building.category, building.kickers_left, building.cards_left) == ("plane+pairs", 1, 2)
    for seat in (1, 2):
        assert render_ansi(state, perspective=seat) == render_ansi(waiting, perspective=seat)
        assert (render_rgb(state, perspective=seat) == render_rgb(waiting, perspective=seat)).all()


def test_the_move_to_beat_is_marked() -> None:
    state = dealt(hands=["3345", "6678", "99TJ"])
    for moves, expected in (
        (("33", "66"), [("33", False, True), ("66", True, True), None]),
        (("pass", "pass", "7"), [("pass", False, False), ("7", True, True), ("pass", False, False)]),
    ):
        plays = [seat.play for seat in take_snapshot(after(state, *moves)).seats]
        assert [(play.text, play.to_beat, play.current) if play else None for play in plays] == expected


def test_a_game_without_history_can_be_drawn() -> None:
    """A state wrapped around a row of a batch knows no moves."""
    bare = State(demo_game(7, 5).row.copy(), Rules.preset("standard"))
    assert take_snapshot(bare).status.endswith("must beat the last move or pass")
    assert render_rgb(bare).any()


@pytest.mark.parametrize(("width", "height"), [(960, 600), (240, 150), (640, 640), (961, 333)])
def test_pixels_have_the_promised_shape_and_are_deterministic(game: State, width: int, height: int) -> None:
    before = game.copy()
    for perspective in (None, 1):
        picture = render_rgb(game, perspective=perspective, width=width, height=height)
        assert (picture.shape, picture.dtype, picture.flags.writeable) == ((height, width, 3), np.uint8, True)
        assert (picture == render_rgb(game.copy(), perspective=perspective, width=width, height=height)).all()
    render_ansi(game)
    assert game == before  # drawing changes no game


@pytest.mark.parametrize(
    "options",
    [*({"perspective": seat} for seat in (-1, 3, True, "0")), {"width": 0}, {"height": 10**6}, {"width": 960.0}],
)
def test_pictures_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidPictureError):
        render_rgb(State.new(seed=1), **options)
    with pytest.raises(InvalidPictureError, match="view of seat 1"):
        render_ansi(State.new(seed=1).view(1), perspective=0)


def test_windows_show_pictures_until_they_are_closed() -> None:
    """Two share the screen; a game plays on when its user closes the window."""
    pygame = pytest.importorskip("pygame")
    picture = render_rgb(State.new(seed=1))
    window, other = Window(), Window()
    assert window.show(picture)
    screen = pygame.surfarray.array3d(pygame.display.get_surface())
    assert (screen.swapaxes(0, 1) == picture).all()
    assert other.show(render_rgb(State.new(seed=1), width=480, height=300))
    assert pygame.display.get_surface().get_size() == (480, 300)
    with pytest.raises(InvalidPictureError, match="uint8"):
        window.show(np.zeros((3, 4), np.uint8))
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert [window.show(picture), window.show(picture)] == [False] * 2
    assert other.show(picture)
    other.close()
    assert not pygame.display.get_init()


def test_the_picture_of_the_readme_is_what_is_drawn() -> None:
    """To renew: PYTHONPATH=. python tests/env/rendering/test_render.py."""
    image = pytest.importorskip("PIL.Image")
    with image.open(PICTURE) as picture:
        assert picture.size == (960, 600)
        drawn = render_rgb(demo_game(7, 12)).astype(int)
        assert np.abs(np.asarray(picture.convert("RGB")).astype(int) - drawn).mean() < 2  # letters differ by Pillow
    assert PICTURE.stat().st_size <= 150_000


if __name__ == "__main__":
    from PIL import Image

    GOLDEN.write_text(golden_text(), encoding="utf-8")
    Image.fromarray(render_rgb(demo_game(7, 12))).save(PICTURE, optimize=True)
