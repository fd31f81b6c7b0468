"""The addresses of the server, and what each does.

==========================================  ==================================================================
``GET api/choices``                         rules, agents and roles that a form offers
``POST api/games``                          a new game: ``rules``, ``seat`` (null: only watch), ``agent``,
                                            ``seed``; or ``record``; or ``puzzle``
``GET api/games/ID``                        the game as its person sees it
``POST api/games/ID/move``                  ``text``: the person's move, or its bare cards
``POST api/games/ID/advance``               the move of the agent whose turn it is
``POST api/games/ID/undo``                  take the person's last decision back
``POST api/games/ID/hint``                  what an agent would do in the person's place
``GET api/games/ID/record``                 a file: the whole game when it may be seen, else what the person has seen
``GET api/games/ID/moves/N``                the position after N moves, once the game may be seen as a whole
``POST api/games/ID/moves/N/thoughts``      what an agent thinks there
``POST api/games/ID/moves/N/branch``        another game from there, in which the seat to act is the person's
``POST api/ask``                            what an agent would do at a table that the person describes
``GET api/puzzles``                         how many puzzles there are, with their grades
==========================================  ==================================================================

Changes name the number of ``moves`` that the page knows of, so a request that is sent twice acts once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from agents.solver.position import open_position
from agents.solver.puzzles import Puzzle, shipped_puzzles
from ddz_env import Hand, Rules
from ddz_env.errors import DouDizhuError
from ddz_env.rules import PRESETS
from ddz_env.session import PERSON, Deal, HiddenCardsError, NotYourTurnError, Record, Replay, Session
from ddz_env.view import ROLES
from training.web.errors import NoSuchGameError, RequestError, StaleGameError
from training.web.games import Game, Games
from training.web.guard import Guard
from training.web.shapes import Json, game_shape, readings, replay_shape, thoughts_shape

PAGE = Path(__file__).with_name("page")
SOLVER = "solver"
"""Who plays the other hand of a puzzle."""
_THREADS = 4


class Server:
    """What answers the addresses.

    Args:
        folder: Where games are kept.
        agents: Agents that may play, the first by default.
        adviser: Who gives hints.
    """

    def __init__(self, folder: Path, agents: Sequence[str], adviser: str) -> None:
        self._agents, self._adviser = tuple(agents), adviser
        self.games = Games(folder, (*agents, adviser, SOLVER))
        self._puzzles: list[Puzzle] = shipped_puzzles()

    # --- choices ---

    def choices(self, body: Json) -> Json:
        """What a form offers."""
        rules = [{"name": name, "players": preset.players, "roles": _roles(preset)} for name, preset in PRESETS.items()]
        return {"rules": rules, "agents": list(self._agents), "agent": self._agents[0], "roles": _roles(Rules())}

    def puzzles(self, body: Json) -> Json:
        """The grades of all puzzles."""
        return {"grades": [puzzle.grade for puzzle in self._puzzles]}

    # --- games ---

    def begin(self, body: Json) -> Json:
        """A new game."""
        if "record" in body:
            record = Record.parse(_text(body, "record"))
        elif "puzzle" in body:
            record = self._puzzle(_number(body, "puzzle"))
        else:
            record = self._dealt(body)
        game = self.games.begin(record)
        return {"id": game.name, "over": game.session.is_over, "seat": game.viewer}

    def look(self, game: Game, body: Json) -> Json:
        """The game as its person sees it."""
        return game_shape(game)

    def move(self, game: Game, body: Json) -> Json:
        """The person's move."""
        _check_fresh(game, body)
        text, session = _text(body, "text"), game.session
        found = readings(session, text) if text.isupper() or text.isdigit() else []
        if len(found) > 1:
            raise _SeveralReadings(found)
        session.play(found[0] if found else text, game.viewer)
        self.games.keep(game)
        return game_shape(game)

    def advance(self, game: Game, body: Json) -> Json:
        """An agent's move."""
        _check_fresh(game, body)
        game.session.let_agent_play()
        self.games.keep(game)
        return game_shape(game)

    def undo(self, game: Game, body: Json) -> Json:
        """Take the person's last decision back."""
        _check_fresh(game, body)
        game.session.undo(seat=game.viewer)
        self.games.keep(game)
        return game_shape(game)

    def hint(self, game: Game, body: Json) -> Json:
        """What an agent would do in the person's place."""
        if game.viewer is None:
            raise NotYourTurnError("nobody sits at this table")
        agent = SOLVER if game.session.deal.endgame else self._asked(body)
        return _thoughts(game.session, agent, game.viewer, open_hands=game.session.deal.endgame)

    def record(self, game: Game, body: Json) -> Json:
        """The whole game as a file when it may be seen, else what the person has seen."""
        session = game.session
        whole = session.is_over or game.viewer is None or session.deal.endgame
        return {"text": str(session.record()) if whole else _seen(game), "name": f"doudizhu-{game.name[:6]}.txt"}

    # --- replays ---

    def position(self, game: Game, body: Json) -> Json:
        """The position after so many moves."""
        replay = _replay(game, body)
        return replay_shape(game, replay.sight(None), replay.number)

    def thoughts(self, game: Game, body: Json) -> Json:
        """What an agent thinks there, knowing what the seat to act knew."""
        replay = _replay(game, body)
        advice = replay.hint(self._asked(body))
        return thoughts_shape(advice, replay.belief(self._asked(body), advice.seat), len(replay.record.players))

    def branch(self, game: Game, body: Json) -> Json:
        """Another game from there, in which the seat to act is the person's."""
        replay = _replay(game, body)
        others = [name if name != PERSON else self._agents[0] for name in replay.record.players]
        others[replay.seat] = PERSON
        found = self.games.begin(replay.until_here(others))
        return {"id": found.name}

    # --- questions ---

    def ask(self, body: Json) -> Json:
        """What an agent would do at a table that the person describes."""
        rules = Rules()
        seat = _roles(rules).index(_one_of(body, "role", _roles(rules)))
        bottom = Hand.parse(_text(body, "landlord_cards"))
        hand = Hand.parse(_text(body, "hand"))
        if seat == 0 and len(hand) == rules.hand_size + rules.bottom:
            hand = Hand(tuple(a - b for a, b in zip(hand.counts, bottom.counts, strict=True)))
        session = Session(Record(Deal.observed(rules, seat, hand, bottom), (PERSON,) * rules.players))
        for line in body.get("moves") or ():
            session.play(str(line))
        try:
            return _thoughts(session, self._asked(body), seat)
        finally:
            session.close()

    # --- inside ---

    def _asked(self, body: Json) -> str:
        return self.games.check_agent(str(body.get("agent") or self._adviser))

    def _dealt(self, body: Json) -> Record:
        rules = Rules.preset(_one_of(body, "rules", PRESETS))
        agent, own, seed = self.games.check_agent(_text(body, "agent")), body.get("seat"), body.get("seed")
        players = [agent] * rules.players
        if own is not None:
            players[_number(body, "seat", rules.players - 1)] = PERSON
        return Record(Deal(rules, secrets.randbelow(2**48) if seed is None else _number(body, "seed")), tuple(players))

    def _puzzle(self, number: int) -> Record:
        if not 1 <= number <= len(self._puzzles):
            raise RequestError(f"puzzles are numbered from 1 to {len(self._puzzles)}")
        state = open_position(self._puzzles[number - 1].hands)
        hands = tuple(state.hand(seat) for seat in range(state.rules.players))
        return Record(Deal(state.rules, hands=hands, bottom=Hand.parse(""), endgame=True), (PERSON, SOLVER))


class _SeveralReadings(DouDizhuError):
    """Bare cards that are several legal moves."""

    def __init__(self, found: list[str]) -> None:
        super().__init__("these cards can be several moves: " + ", ".join(found))
        self.readings = found


def _roles(rules: Rules) -> list[str]:
    """The role of each seat; empty where an auction decides."""
    if rules.bidding != "fixed":
        return []
    names = [role.replace("_", " ") for role in ROLES]
    return names if rules.players == len(names) else ["landlord", "peasant"]


def _thoughts(session: Session, agent: str, seat: int, *, open_hands: bool = False) -> Json:
    advice = session.hint(agent, seat)
    return thoughts_shape(advice, None if open_hands else session.belief(agent, seat), len(session.players))


def _replay(game: Game, body: Json) -> Replay:
    """The game at the move that the address names.

    Raises:
        HiddenCardsError: If a person still plays it.
    """
    if game.viewer is not None and not game.session.is_over:
        raise HiddenCardsError("all hands are shown at the end of the game")
    return Replay(game.session.record(), _number(body, "number", len(game.session.moves)))


def _seen(game: Game) -> str:
    """What a person has seen of a running game, as text that nothing hidden is in."""
    session, viewer = game.session, game.viewer or 0
    view = session.view(viewer)
    lines = [f"# rules: {session.deal.rules.name}", f"# your seat: {viewer}", f"# your hand now: {view.hand}"]
    lines += [f"# landlord cards: {view.landlord_cards}"]
    return "\n".join([*lines, *(f"{seat} {move}" for seat, move in view.history), ""])


def _check_fresh(game: Game, body: Json) -> None:
    if _number(body, "moves") != len(game.session.moves):
        raise StaleGameError("the game has gone on: this page shows it now")


def _text(body: Json, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RequestError(f"{name} is missing: it is a text")
    return value.strip()


def _number(body: Json, name: str, most: int = 2**63 - 1) -> int:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise RequestError(f"{name} is a whole number from 0 to {most}")
    return value


def _one_of(body: Json, name: str, known: Sequence[str] | dict[str, Any]) -> str:
    value = body.get(name)
    if value not in known:
        raise RequestError(f"{name} is one of {', '.join(known)}")
    return str(value)


_STATUS = {NoSuchGameError: 404, StaleGameError: 409, NotYourTurnError: 409, HiddenCardsError: 403}


def _answered(do: Callable[[Json], Json], limiter: CapacityLimiter) -> Callable[[Request], Any]:
    """An address: the body and the path's numbers in, JSON out, errors as ``{"error": text}``; work is done in threads."""

    async def answer(request: Request) -> JSONResponse:
        body: Json = {}
        if request.method == "POST":
            try:
                body = await request.json()
            except ValueError:
                return JSONResponse({"error": "the body is no JSON"}, 400)
            if not isinstance(body, dict):
                return JSONResponse({"error": "the body is a JSON object"}, 400)
        try:
            return JSONResponse(await run_sync(partial(do, {**body, **request.path_params}), limiter=limiter))
        except DouDizhuError as error:
            status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
            extra = {"readings": error.readings} if isinstance(error, _SeveralReadings) else {}
            return JSONResponse({"error": str(error), **extra}, status)

    return answer


def make_app(server: Server, hosts: Sequence[str]) -> Starlette:
    """The application.

    Args:
        server: What answers.
        hosts: Names that the server is known by.
    """
    limiter: list[CapacityLimiter] = []

    def route(method: str, path: str, do: Callable[[Json], Json]) -> Route:
        async def answer(request: Request) -> JSONResponse:
            if not limiter:
                limiter.append(CapacityLimiter(_THREADS))  # needs a running loop
            response: JSONResponse = await _answered(do, limiter[0])(request)
            return response

        return Route(f"/api/{path}", answer, methods=[method])

    def game(do: Callable[[Game, Json], Json]) -> Callable[[Json], Json]:
        def of_game(body: Json) -> Json:
            found = server.games.find(str(body["game"]))
            with found.lock:
                return do(found, body)

        return of_game

    at = "games/{game}"
    routes = [
        route("GET", "choices", server.choices),
        route("GET", "puzzles", server.puzzles),
        route("POST", "games", server.begin),
        route("POST", "ask", server.ask),
        route("GET", at, game(server.look)),
        route("GET", f"{at}/record", game(server.record)),
        *(route("POST", f"{at}/{name}", game(getattr(server, name))) for name in ("move", "advance", "undo", "hint")),
        route("GET", f"{at}/moves/{{number:int}}", game(server.position)),
        *(route("POST", f"{at}/moves/{{number:int}}/{name}", game(getattr(server, name))) for name in ("thoughts", "branch")),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=hosts), Middleware(GZipMiddleware)])
