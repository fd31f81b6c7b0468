"""The page of ``ddz web`` without a server: ``python docs/demo/record.py FOLDER`` writes it, with recorded answers.

Games are recorded with the chances and the advice at each of their positions, puzzles with all positions that the
person can reach.  ``api.js`` beside this file answers from the recording; it and ``start.js`` replace the page's own.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ddz_play.session import Session
from ddz_play.web.games import StoredGame
from ddz_play.web.routes import PAGE
from ddz_play.web.server import LANGUAGE_HEADER, Server
from ddz_play.web.shapes import Json

HERE = Path(__file__).parent
ADVISER = "neural-ismcts:iterations=200"


class Deal(NamedTuple):
    """A game that is recorded.

    Attributes:
        seed: Of the deal, under the rules ``standard``; policies play it.
        seat: Where ``rules`` plays in a person's place, whose moves are reviewed; None for nowhere.
        en: Its title in English.
        zh: Its title in Chinese.
    """

    seed: int
    seat: int | None
    en: str
    zh: str


GAMES = (
    Deal(6, None, "Three trained policies", "三个训练出来的策略"),
    Deal(3, 0, "A review: the rule agent as the landlord, against two policies", "复盘：规则玩家当地主，对两个策略"),
    Deal(12, 1, "A review: the rule agent as a peasant", "复盘：规则玩家当农民"),
)
PUZZLES = range(1, 1000, 40)
"""Numbers of shipped puzzles, from the easiest to the hardest."""


def played(server: Server, deal: Deal) -> Session:
    """A game, to its end."""
    begun = server.begin({"rules": "standard", "seed": str(deal.seed), "seat": deal.seat, "agents": ["policy"] * 3})
    with server.games.hold(begun["id"]) as game:
        session = game.session.copy()
    while not session.is_over:
        if session.seat == deal.seat:
            session.play(str(session.hint("rules").options[0].move), session.seat)
        else:
            session.let_agent_play()
    return session


def game_answers(server: Server, game: StoredGame) -> Iterator[tuple[str, Json]]:
    """What the page asks about a game that is over, and the answers; advice is given in two languages."""
    for number in range(len(game.session.moves) + 1):
        path, body = f"games/{game.name}/moves/{number}", {"number": number}
        yield path, server.position(game, body)
        yield f"{path}/chance", server.chance(game, body)
        for language in ("en", "zh") if number < len(game.session.moves) else ():
            yield f"{path}/thoughts {language}", server.thoughts(game, body | {LANGUAGE_HEADER: language})


def replies(session: Session, person: int) -> Iterator[Session]:
    """The game after each of the person's moves, or after the move of the agent whose turn it is."""
    for move in session.view(person).legal_moves() if session.seat == person else [None]:
        after = session.copy()
        if move is None:
            after.let_agent_play()
        else:
            after.play(move, person)
        yield after


def positions(server: Server, game: StoredGame) -> Iterator[tuple[str, Json]]:
    """The positions of a puzzle until it is decided, whatever the person plays, by the moves that lead there."""
    shape = server.state(game, {})
    ends = shape["over"] or shape.get("verdict")
    followers = [] if ends else list(replies(game.session, shape["seat"]))
    yield (
        ",".join(move["text"] for move in shape["moves"]),
        {
            "game": shape,
            "next": [str(after.moves[-1][1]) for after in followers],
            "solution": None if shape["over"] else server.solution(game, {}),
        },
    )
    for after in followers:
        yield from positions(server, StoredGame(game.name, after))


def recording(server: Server, games: Sequence[Deal], puzzles: Sequence[int]) -> Json:
    """All answers: ``answers`` by their addresses, and the ``puzzles``, by their positions."""
    shipped = server.puzzles({})
    chosen = {f"puzzle-{position}": number for position, number in enumerate(puzzles, 1)}
    answers: Json = {
        "choices": server.list_choices({}) | {"agents": [], "levels": []},
        "puzzles": shipped | {"puzzles": [shipped["puzzles"][number - 1] for number in puzzles], "daily": 1},
        "recorded": [
            {"id": f"game-{position}", "en": deal.en, "zh": deal.zh} for position, deal in enumerate(games, 1)
        ],
    }
    for position, deal in enumerate(games, 1):
        answers.update(game_answers(server, StoredGame(f"game-{position}", played(server, deal))))
    explored: Json = {}
    for name, number in chosen.items():
        with server.games.hold(server.begin({"puzzle": number})["id"]) as game:
            explored[name] = dict(positions(server, StoredGame(name, game.session)))
    return {"answers": answers, "puzzles": explored}


def main(folder: Path, games: Sequence[Deal] = GAMES, puzzles: Sequence[int] = PUZZLES) -> None:
    """Make the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PAGE, folder)
    for name in ("api.js", "start.js"):
        shutil.copy(HERE / name, folder / "js" / name)
    lines = (PAGE / "index.html").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if 'href="#/open"' not in line and 'href="#/ask"' not in line]
    (folder / "index.html").write_text("".join(kept), encoding="utf-8")
    with tempfile.TemporaryDirectory() as kept_games:
        server = Server(Path(kept_games), ["policy", "rules"], ADVISER)
        text = json.dumps(recording(server, games, puzzles))
        server.games.close()
    (folder / "recording.bin").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
