"""The JSON data that the page receives, taken only from a viewer's :class:`~ddz_play.session.SeatView`."""

from __future__ import annotations

from typing import Any

from ddz_env import View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.playing.search_statistics import NO_HOLDER, Belief
from ddz_env.rendering.snapshot import Card, LastMove, Seat
from ddz_env.rendering.texts import LANGUAGES
from ddz_env.saved_games import PERSON
from ddz_play.session import Advice, RankedMove, SeatView
from ddz_play.session.reasons import explain
from ddz_play.texts import Texts
from ddz_play.web.games import StoredGame

Json = dict[str, Any]

API = 1
"""Version of the JSON interface (``docs/reference/json.md``): it rises when a field changes its meaning or goes."""


def _table_json(part: Any) -> Any:
    """Convert a part of a table, such as a card or a seat, to JSON values."""
    if isinstance(part, Card):
        return {"rank": part.rank, "suit": part.suit, "red": part.is_red}
    if isinstance(part, tuple):
        return [_table_json(value) for value in part]
    return (
        {name: _table_json(value) for name, value in vars(part).items()} if isinstance(part, (LastMove, Seat)) else part
    )


_OF_CARDS = ("seats", "landlord", "landlord_cards", "landlord_backs", "left_out")
_TABLE = (*_OF_CARDS, "stake", "highest_bid", "bombs", "spring")


def _moves_json(sight: SeatView) -> list[Json]:
    return [{"seat": seat, "text": text} for seat, text in sight.history]


def _position_json(game: StoredGame, sight: SeatView, viewer: int | None) -> Json:
    session, table = game.session, sight.table
    acting = table.acting
    over = table.stage == "over"
    result = table.seats[viewer].result if viewer is not None and over else None
    return {
        "id": game.name,
        "rules": session.rules.name,
        "scoring": session.rules.scoring,
        "cheaters": list(session.cheaters),
        "seat": viewer,
        "names": list(session.players),
        "table": {name: _table_json(getattr(table, name)) for name in _TABLE},
        "stage": table.stage,
        "turn": None if acting is None else acting.number,
        "moves": _moves_json(sight),
        "to_beat": None if table.to_beat is None else table.to_beat.text,
        "over": over,
        "winner": table.winner,
        "result": result,
    }


def person_decisions(game: StoredGame) -> list[int]:
    """Return the numbers of the moves that the person has decided in the current deal; forced passes are left out."""
    session = game.session
    dealt = len(session.moves) - len(session.view(game.viewer or 0).history)
    state, decisions = session.deal.state(session.moves[:dealt]), []
    for number, (seat, move) in enumerate(session.moves[dealt:], dealt):
        if seat == game.viewer and not (move.is_pass and len(state.legal_actions()) == 1):
            decisions.append(number)
        state.step(move)
    return decisions


def must_pass(game: StoredGame) -> bool:
    """Return whether the person is to act and can only pass."""
    if game.session.stage != "play" or game.viewer is None:
        return False
    view = game.session.view(game.viewer)
    return not view.on_lead and len(view.legal_actions()) == 1  # none where another seat is to act


def game_json(game: StoredGame) -> Json:
    """Return a game as JSON for its player, with the actions that are possible now."""
    session, viewer = game.session, game.viewer
    plays = session.stage == "play"
    # A page needs no list of these moves, and the first list takes long to compile.
    sight = session.seat_view(viewer, reveal=True, legal=not plays)  # all hands once the game is over
    position = _position_json(game, sight, viewer)
    shows_unseen = not (game.is_open or session.deal.endgame)
    return {
        "puzzle": session.deal.endgame,
        "bombs": session.rules.bombs,
        "number": len(session.moves),
        "open": game.is_open,
        "question": session.question,
        **position,
        "may_pass": plays and viewer == session.seat and position["to_beat"] is not None,
        "must_pass": must_pass(game),
        "may_undo": bool(person_decisions(game)),
        "unseen": session.view(viewer).unseen.counts if viewer is not None and shows_unseen else None,
        "words": list(sight.legal),
        **({"seed": str(session.deal.seed)} if game.is_open else {}),  # as text: JavaScript rounds such numbers
    }


def replay_json(game: StoredGame, sight: SeatView, number: int) -> Json:
    """Return a position of a fully visible game as JSON, together with all moves of the game."""
    session = game.session
    running = not session.is_over and PERSON not in session.players
    shape = _position_json(game, sight, game.viewer) | {"number": number, "total": len(session.moves)}
    whole = session.seat_view(None)
    roles = [seat.role for seat in whole.table.seats]
    return shape | {"story": _moves_json(whole), "roles": roles, "running": running}


def _option_json(advice: Advice, option: RankedMove) -> Json:
    """Convert a move that an agent compared, with its evaluation, to JSON values."""
    shares = {"chance": option.chance, "prior": option.prior}
    return {
        "text": advice.option_name(option),
        "group": option.main,
        **{name: None if share is None else round(share, 4) for name, share in shares.items()},
        "points": None if option.score is None or advice.source != "payoff" else round(option.score, 2),
        "visits": option.visits,
        "compared": advice.compare_with_best(option),
        "line": [str(move) for move in option.line],
    }


def thoughts_json(advice: Advice, belief: Belief | None, view: View, texts: Texts) -> Json:
    """Convert an agent's advice to JSON values: moves, reasons, and a belief about the hidden cards."""
    whys = {name: explain(advice, Texts(name), view) for name in LANGUAGES}
    shape: Json = {
        "agent": advice.agent,
        "seat": advice.seat,
        "move": advice.option_name(advice.options[0]),
        "moves": [_option_json(advice, option) for option in advice.options],
        "source": advice.source,
        "opponents": advice.opponents,
        "why": whys[texts.language],
        "whys": whys,
        "beliefs": None,
    }
    if belief is not None:
        expected = belief.expected_counts().round(2)
        holders = [seat for seat in range(view.rules.players) if seat != advice.seat]
        if expected[NO_HOLDER].sum() > 0:
            holders.append(NO_HOLDER)
        shape["beliefs"] = [{"seat": seat, "expected": expected[seat, :NUM_RANKS].tolist()} for seat in holders]
    return shape
