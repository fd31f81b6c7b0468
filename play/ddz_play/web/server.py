"""The functions that answer the page's requests, one per address, with JSON values."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ddz_agents.open_cards.solver.solver import OpenSolver
from ddz_env import Hand, Move, Rules, State
from ddz_env.core.move_names import move_name
from ddz_env.core.notation import list_readings
from ddz_env.core.rules import PRESETS
from ddz_env.core.view import AUCTION_STAGES, ROLES
from ddz_env.playing.agent import close_agent, is_cheating
from ddz_env.playing.registry import LEVELS, estimate_compile_seconds, make_agent, parse_agent, split_bidder
from ddz_env.rendering.snapshot import format_role
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_env.support.errors import (
    AmbiguousMoveError,
    DouDizhuError,
    IllegalMoveError,
    InvalidMoveError,
    Message,
    short_repr,
)
from ddz_play.puzzles import load_puzzles, verdict
from ddz_play.seating import parse_seed
from ddz_play.session import HiddenCardsError, NotYourTurnError, Replay, Session, SessionError
from ddz_play.texts import Texts
from ddz_play.web.games import GameStore, RequestError, StaleGameError, StoredGame
from ddz_play.web.preparing import BIDDER, CHANCE_AGENT, QUICK_ADVISERS, SOLVER, Preparation, list_compile_steps
from ddz_play.web.puzzles import PuzzleRecord
from ddz_play.web.shapes import API, Json, game_json, person_decisions, replay_json, thoughts_json
from ddz_play.winning_chances import ChanceEstimator, is_decided_by_points

OFFERED_RULES = (*PRESETS, "bidding,doubling=true", "standard,unshuffled=true")
"""The rules that a form offers."""
_MAX_MOVES = 10_000
LANGUAGE_HEADER = "accept-language"


class Server:
    """The handler of the page's requests, with one method per address.

    Args:
        folder: Where games are kept.
        agents: Agents that may play, the first by default.
        adviser: Who gives hints.
    """

    def __init__(self, folder: Path, agents: Sequence[str], adviser: str) -> None:
        self._agents, self._adviser = tuple(agents), adviser
        self._others = [name for name in agents if name not in {level.name for level in LEVELS}]
        self.games = GameStore(folder, agents, (adviser, SOLVER))
        self._puzzles = load_puzzles()
        self._puzzle_record = PuzzleRecord(folder / "puzzles.json", self._puzzles)
        self._solutions_shown: set[str] = set()  # names of games
        self._chances = ChanceEstimator()
        self.preparation = Preparation(list_compile_steps(self._agents, adviser))

    # --- choices ---

    def ready(self, body: Json) -> Json:
        """Return the parts of the page that are not compiled yet, with the seconds until each is ready."""
        return self.preparation.status()

    def list_choices(self, body: Json) -> Json:
        """Return the rules, levels and agents that the page offers in its forms."""
        return {
            "api": API,
            "rules": [_rules_json(Rules.preset(name)) for name in OFFERED_RULES],
            "levels": [level._asdict() for level in LEVELS if level.name in self._agents],
            "agents": self._others,
            "cheaters": self._cheaters,
            "agent": self._agents[0],
            "adviser": self._adviser,
        }

    def puzzles(self, body: Json) -> Json:
        """Return all puzzles, and the person's results in them."""
        return self._puzzle_record.to_json()

    # --- games ---

    def begin(self, body: Json) -> Json:
        """Begin a game from a new deal, a saved game or a puzzle, and return the game's secret id."""
        if "record" in body:
            record = SavedGame.parse(_read_text(body, "record"))
        elif "puzzle" in body:
            record = self._puzzle_game(_read_number(body, "puzzle"))
        else:
            record = self._deal_new_game(body)
        with self.games.hold(self.games.begin(record)) as game:
            return {"id": game.name, "open": game.is_open}

    def state(self, game: StoredGame, body: Json) -> Json:
        """Return a game as its player sees it, and record the result once a puzzle is decided."""
        shape, state = game_json(game), game.session.position(None) if game.session.deal.endgame else None
        if isinstance(state, State) and game.session.moves and game.viewer is not None:
            self.preparation.wait_for(SOLVER)
            shape["verdict"] = verdict(state, game.viewer)
            shape["followed"] = game.name in self._solutions_shown
            if shape["verdict"] == "lost" or (shape["verdict"] == "won" and not shape["followed"]):
                self._puzzle_record.record_result(game.session.deal, shape["verdict"] == "won")
        return shape

    def move(self, game: StoredGame, body: Json) -> Json:
        """Play the person's move, and return the game."""
        text, legal = _read_text(body, "text"), self._legal_moves(game, body)
        session = game.session.copy()
        session.play(next((move for move in legal if str(move) == text), text), game.viewer)
        return self.state(self.games.save(game, session), body)

    def explain_choice(self, game: StoredGame, body: Json) -> Json:
        """List the moves that the chosen cards can form, or give the reason why they form none."""
        legal, chosen = self._legal_moves(game, body), Hand.parse(_read_text(body, "text"))
        readings = [str(move) for move in legal if move.cards == chosen]
        why = "impossible" if list_readings(chosen, game.session.rules) else "no combination"
        return {"readings": readings, "reason": None if readings else why}

    def advance(self, game: StoredGame, body: Json) -> Json:
        """Let the agent to act make its move; the game can still be viewed while the agent thinks."""
        _check_fresh(game, body)
        session = game.session.copy()
        self.preparation.wait_for(BIDDER if session.stage in AUCTION_STAGES else session.players[session.seat])
        session.let_agent_play()
        return self.state(self.games.save(game, session), body)

    def replace(self, game: StoredGame, body: Json) -> Json:
        """Replace the agent in a seat by another agent, and return the game."""
        _check_fresh(game, body)
        seat = _read_number(body, "seat", len(game.session.players) - 1)
        return self.state(self.games.replace(game, seat, self.games.check_agent(_read_text(body, "agent"))), body)

    def undo(self, game: StoredGame, body: Json) -> Json:
        """Take back the person's last decision in this deal; a forced pass does not count as a decision."""
        _check_fresh(game, body)
        decisions = person_decisions(game)
        if not decisions:
            raise SessionError("there is nothing to take back")
        session = game.session.copy()
        session.undo(decisions[-1])
        return self.state(self.games.save(game, session), body)

    def hint(self, game: StoredGame, body: Json) -> Json:
        """Ask an agent for advice in the person's place; the person may play while the agent thinks."""
        agent = self._choose_adviser(body)
        if game.viewer is None:
            raise NotYourTurnError("no person plays at this table")
        return self._collect_thoughts(game.session, agent, game.viewer, page_texts(body))

    def solution(self, game: StoredGame, body: Json) -> Json:
        """Give up a puzzle: return whether its person can still win, and the best play for both sides from here."""
        self.preparation.wait_for(SOLVER)
        session = game.session
        if not session.deal.endgame or session.is_over or game.viewer is None:
            raise RequestError("a solution is shown only for a puzzle that a person plays and that is not over")
        self._puzzle_record.record_result(session.deal, won=False)
        state = session.position(None)
        assert isinstance(state, State)  # all hands of an endgame are open
        if verdict(state, game.viewer) == "lost":
            return {"wins": False, "line": []}
        self._solutions_shown.add(game.name)
        return {"wins": True, "line": [str(move) for _, move in OpenSolver(session.rules).line(state)]}

    def record(self, game: StoredGame, body: Json) -> Json:
        """Return the whole game as a file if it may be seen, otherwise only what the person has seen."""
        session = game.session
        whole = game.is_open or session.deal.endgame
        return {
            "text": str(session.to_saved_game()) if whole else _visible_record(game),
            "name": f"doudizhu-{game.name[:6]}.txt",
        }

    # --- replays ---

    def position(self, game: StoredGame, body: Json) -> Json:
        """Return the position after a given number of moves, in a game whose hands may all be shown."""
        replay = self._open_replay(game, body)
        return replay_json(game, replay.seat_view(game.viewer, reveal=True), replay.number)

    def thoughts(self, game: StoredGame, body: Json) -> Json:
        """Ask an agent about a past position, given only what the seat to act knew at the time."""
        agent, replay = self._choose_adviser(body), self._open_replay(game, body)
        played = [move for _, move in replay.game.moves[replay.number :][:1]]
        return self._collect_thoughts(replay, agent, replay.seat, page_texts(body), *played)

    def chance(self, game: StoredGame, body: Json) -> Json:
        """Estimate the landlord's winning chance at a past position, and how much the move played there lost."""
        replay = self._open_replay(game, body)
        self.preparation.wait_for(CHANCE_AGENT)
        return self._chances.review(replay)._asdict()

    def branch(self, game: StoredGame, body: Json) -> Json:
        """Begin a new game from a position of an existing game, with the person in the seat to act."""
        replay = self._open_replay(game, body)
        others = [name if name != PERSON else self._agents[0] for name in replay.game.players]
        others[replay.seat] = PERSON
        return {"id": self.games.begin(replay.branch_here(others))}

    # --- questions ---

    def ask(self, body: Json) -> Json:
        """Ask an agent for advice at a table that the person describes."""
        rules = Rules.preset(
            _read_choice(body, "rules", [name for name in OFFERED_RULES if _is_observable(Rules.preset(name))])
        )
        seat = _seat_labels(rules).index(_read_choice(body, "role", _seat_labels(rules)))
        bids = rules.bidding != "fixed"
        shown = body.get("landlord_cards") if bids else rules.bottom
        bottom = Hand.parse(_read_text(body, "landlord_cards") if shown else "")
        hand = Hand.parse(_read_text(body, "hand"))
        if bids:
            return self._advise_at_table(_auction_deal(rules, seat, hand, bottom), seat, body)
        if seat == 0 and rules.bottom and len(hand) == rules.hand_size + rules.bottom:
            if any(a < b for a, b in zip(hand.counts, bottom.counts, strict=True)):
                raise RequestError("the landlord's {number} cards must contain the landlord cards", number=len(hand))
            hand = hand - bottom
        return self._advise_at_table(Deal.from_one_hand(rules, seat, hand, bottom), seat, body)

    # --- inside ---

    def _advise_at_table(self, deal: Deal, seat: int, body: Json) -> Json:
        """Set up the table that the person describes, play its moves, and ask an agent for advice."""
        session = Session(SavedGame(deal, (PERSON,) * deal.rules.players), advisers=self.games.advisers)
        for number, line in enumerate(_read_texts(body, "moves"), start=1):
            try:
                session.play(line)
            except DouDizhuError as error:
                raise RefusedMoveError(error, number) from error
        if not session.is_over and session.seat != seat:
            place = Message(
                _LABEL_TEXTS.get(_seat_labels(deal.rules)[session.seat], _seat_labels(deal.rules)[session.seat])
            )
            raise RequestError("after these moves it is not your turn; to move: {place}", place=place)
        if deal.rules.bidding != "fixed":
            _check_auction(session, body)
        return self._collect_thoughts(session, self._choose_adviser(body), seat, page_texts(body))

    def _legal_moves(self, game: StoredGame, body: Json) -> list[Move]:
        """List the person's legal moves; refuse while another seat is to act, to keep that seat's hand hidden."""
        _check_fresh(game, body)
        session = game.session
        if session.is_over or session.seat != game.viewer:
            raise NotYourTurnError("it is not your turn")
        return session.view(session.seat).legal_moves()

    def _open_replay(self, game: StoredGame, body: Json) -> Replay:
        """Return a replay of a game whose hands may all be shown, at the move number in the request.

        Raises:
            HiddenCardsError: If a person still plays it.
        """
        if not game.is_open:
            raise HiddenCardsError("all hands are shown at the end of the game")
        number = _read_number(body, "number", len(game.session.moves))
        return Replay(game.session.to_saved_game(), number, advisers=self.games.advisers)

    @functools.cached_property
    def _cheaters(self) -> list[str]:
        """The offered agents that look at hidden cards, found without creating the built-in agents."""
        return [name for name in self._others if _looks_at_hidden_cards(name)]

    def _choose_adviser(self, body: Json) -> str:
        """Choose an adviser, a quick one while the usual one is being compiled, and wait until it is ready."""
        asked = self._adviser if body.get("agent") is None else self.games.check_agent(_read_text(body, "agent"))
        if asked == self._adviser:
            asked = next(filter(self.preparation.is_ready, (asked, *QUICK_ADVISERS)), QUICK_ADVISERS[-1])
        self.preparation.wait_for(asked)
        return asked

    def _collect_thoughts(self, table: Session, agent: str, seat: int, texts: Texts, *played: Move) -> Json:
        """Collect an agent's advice for a seat, with winning chances of moves and a belief about hidden cards."""
        if table.deal.endgame:
            advice, belief, better = replace(table.hint(SOLVER, seat), source="solver"), None, None
        else:
            judge = BIDDER if is_decided_by_points(table.view(seat)) else CHANCE_AGENT
            better = max(filter(None, map(self.preparation.seconds_until_ready, (self._adviser, judge))), default=None)
            advice, belief = table.hint(agent, seat), table.infer_belief(agent, seat)
            if self.preparation.is_ready(judge):
                players = table.game.players if isinstance(table, Replay) else table.players
                advice = self._chances.add_chances(table.view(seat), advice, *played, players=players)
        shape = thoughts_json(advice, belief, table.view(seat), texts) | {"better_in": better}
        return shape | {"played": next((move_name(move, advice.question) for move in played), None)}

    def _deal_new_game(self, body: Json) -> SavedGame:
        rules = Rules.preset(_read_choice(body, "rules", OFFERED_RULES))
        players = [self.games.check_agent(name) for name in _read_texts(body, "agents")]
        if len(players) != rules.players:
            raise RequestError(f"agents must be a list of {rules.players} names, one for each seat")
        if body.get("seat") is not None:
            players[_read_number(body, "seat", rules.players - 1)] = PERSON
        seed = secrets.randbits(64) if body.get("seed") is None else parse_seed(body["seed"])
        if body.get("after") is None:
            return SavedGame(Deal(rules, seed), tuple(players))
        with self.games.hold(_read_text(body, "after")) as last:
            if last.session.rules != rules:
                raise RequestError(f"after must name a game with the {rules.name} rules, not {last.session.rules.name}")
            return SavedGame(last.session.next_deal(seed), tuple(players))

    def _puzzle_game(self, number: int) -> SavedGame:
        if not 1 <= number <= len(self._puzzles):
            raise RequestError("puzzles are numbered from 1 to {most}", most=len(self._puzzles))
        return SavedGame(self._puzzles[number - 1].deal(), (PERSON, SOLVER))


_LABEL_TEXTS = {"peasant down": "peasant after landlord", "peasant up": "peasant before landlord"}
"""Of a place, what people read, where it is not its label."""
_REASON_BY_ERROR = {AmbiguousMoveError: None, InvalidMoveError: "no combination", IllegalMoveError: "impossible"}


class RefusedMoveError(RequestError):
    """Raised when a move cannot be played; the message gives the reason in a player's words.

    Args:
        error: What was wrong.
        line: The line of the table that a person described.
    """

    def __init__(self, error: DouDizhuError, line: int) -> None:
        where = Message("line {number}", number=line)
        super().__init__(Message("{where}: {why}", where=where, why=error.message))
        reason = next((reason for kind, reason in _REASON_BY_ERROR.items() if isinstance(error, kind)), None)
        self.about: Json = {"line": line, "reason": reason}


def _looks_at_hidden_cards(agent: str) -> bool:
    """Return whether an agent looks at hidden cards, without creating a built-in agent."""
    if estimate_compile_seconds(agent) is not None:
        return any(getattr(parse_agent(part)[0], "cheats", False) for part in filter(None, split_bidder(agent)))
    made = make_agent(agent)
    close_agent(made)
    return is_cheating(made)


def _rules_json(rules: Rules) -> Json:
    """Return a rules preset as the JSON object that the page reads."""
    return {
        "name": rules.name,
        "players": rules.players,
        "roles": _seat_roles(rules),
        "places": _seat_labels(rules),
        "hand": rules.hand_size,
        "landlord_cards": rules.bottom,
        "observable": _is_observable(rules),
    }


def _seat_roles(rules: Rules) -> list[str]:
    """Return the role of each seat, or an empty list where an auction decides the roles."""
    if rules.bidding != "fixed":
        return []
    return [format_role(role, rules.players) for role in ROLES[: rules.players]]


def _seat_labels(rules: Rules) -> list[str]:
    """Return a label for each seat: its role or, under an auction, its place in the bidding order."""
    return _seat_roles(rules) or ["bids first", "bids second", "bids third"]


def _is_observable(rules: Rules) -> bool:
    """Return whether a person can describe a table under the rules: hands are hidden, and their sizes known."""
    return not (rules.half_deck or rules.open_hands or rules.showing)


def _auction_deal(rules: Rules, seat: int, hand: Hand, bottom: Hand) -> Deal:
    """Make a deal that begins with the auction, from the person's hand and arbitrary hands for the other seats."""
    if len(hand) != rules.hand_size or len(bottom) not in (0, rules.bottom):
        raise RequestError("in an auction your hand has {most} cards, without the landlord cards", most=rules.hand_size)
    left, size = str(Hand(rules.deck) - hand - bottom), rules.hand_size
    *others, rest = (Hand.parse(left[at : at + size]) for at in range(0, size * rules.players, size))
    return Deal.from_cards(rules, [*others[:seat], hand, *others[seat:]], bottom if len(bottom) else rest, opener=0)


def _check_auction(session: Session, body: Json) -> None:
    """Refuse a described table whose auction is over, or one at doubling without its landlord cards."""
    if session.stage not in AUCTION_STAGES:
        raise RequestError("the auction is over: choose the rules without one to ask about the play")
    if session.stage != "bid" and not body.get("landlord_cards"):
        raise RequestError("name the landlord cards: they lie open now")


def _visible_record(game: StoredGame) -> str:
    """Return what a person has seen of a running game as the text of a file, without hidden cards."""
    session, viewer = game.session, game.viewer or 0
    view = session.view(viewer)
    lines = [f"# rules: {session.deal.rules.name}", f"# your seat: {viewer}", f"# your hand now: {view.hand}"]
    lines += [f"# landlord cards: {view.landlord_cards}", f"# game: {game.name}"]
    return "\n".join([*lines, *(f"{seat} {move}" for seat, move in view.history), ""])


def _check_fresh(game: StoredGame, body: Json) -> None:
    if _read_number(body, "moves") != len(game.session.moves):
        raise StaleGameError("the game has gone on: this page shows it now")


def _read_text(body: Json, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RequestError(f"{name}={short_repr(value)} must be a text that is not empty")
    return value.strip()


def _read_texts(body: Json, name: str) -> list[str]:
    value = body.get(name, [])
    if not isinstance(value, list) or not all(isinstance(line, str) for line in value) or len(value) > _MAX_MOVES:
        raise RequestError(f"{name}={short_repr(value)} must be a list of at most {_MAX_MOVES} texts")
    return value


def _read_number(body: Json, name: str, most: int = 2**63 - 1) -> int:
    value = body.get(name)
    if name == "number" and isinstance(value, str) and value.isdecimal() and len(value) < 9:
        value = int(value)  # it is in the address
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise RequestError(f"{name}={short_repr(value)} must be a whole number from 0 to {most}")
    return value


def _read_choice(body: Json, name: str, known: Sequence[str]) -> str:
    value = body.get(name)
    if not isinstance(value, str) or value not in known:
        raise RequestError(f"{name}={short_repr(value)} must be one of {', '.join(known)}")
    return value


def page_texts(body: Json) -> Texts:
    """Return the texts in the language of the page that sent a request."""
    return Texts("zh" if body[LANGUAGE_HEADER].lower().startswith("zh") else "en")
