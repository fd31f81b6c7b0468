"""The command ``ddz replay``, which checks recorded games, prints them, or reviews them move by move."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import argument, option

from ddz_env.support.errors import pluralize
from ddz_training.cli.console import print_table

if TYPE_CHECKING:
    from ddz_env.saved_games import SavedGame
    from ddz_training.data.games import GameFile


@click.command()
@argument("games", type=Path, help="A data set's folder or file of games; with --review also a saved game.")
@option("--deal", type=int, help="Print the game of this deal, to be opened on the page.")
@option("--game", default=0, help="With --deal: which of its games.")
@option("--review", is_flag=True, help="Say of every move what it lost in chances of winning, by what its seat knew.")
@option("--json", "as_json", is_flag=True, help="With --review: print one JSON object per move.")
def replay(games: Path, deal: int | None, game: int, review: bool, as_json: bool) -> None:
    """Check that all games of a data set replay as they were recorded; print one, or review one move by move.

    \b
    Examples:
      ddz replay runs/rules-games
      ddz replay runs/rules-games --deal 7
      ddz replay game.txt --review
    """
    from ddz_env.saved_games import SavedGame
    from ddz_training.data.games import DataSetError, read_games

    if review and deal is None:
        _review(SavedGame.load(games), as_json)
        return
    file = read_games(games)
    chosen = [recorded for recorded in file.games if deal is None or (recorded.deal, recorded.game) == (deal, game)]
    if not chosen:
        raise DataSetError(f"{games} has no games" if deal is None else _missing_game_text(games, file, deal, game))
    if review:
        _review(chosen[0].to_saved_game(file.rules, file.agents), as_json)
    elif deal is not None:
        click.echo(chosen[0].to_saved_game(file.rules, file.agents), nl=False)
    else:
        for recorded in chosen:
            recorded.replay(file.rules)
        click.echo(f"{pluralize(len(chosen), 'game')} replay as recorded")


def _missing_game_text(path: Path, file: GameFile, deal: int, game: int) -> str:
    """Return what a data set has in place of a game that it lacks."""
    same_deal = [recorded.game for recorded in file.games if recorded.deal == deal]
    if same_deal:
        return f"{path} has no game {game} of deal {deal}: it has the games {min(same_deal)} to {max(same_deal)}"
    deals = [recorded.deal for recorded in file.games]
    return f"{path} has no deal {deal}: it has deals from {min(deals)} to {max(deals)}"


def _review(record: SavedGame, as_json: bool) -> None:
    """Print how much winning chance each recorded move gave away."""
    from ddz_play.session import Replay
    from ddz_play.winning_chances import ChanceEstimator
    from ddz_training.measure.markdown import Table

    replayed, chances, lines = Replay(record), ChanceEstimator(), []
    for number in range(len(replayed)):
        replayed.go_to(number)
        review = chances.review(replayed)
        if as_json:
            click.echo(json.dumps(review._asdict(), ensure_ascii=False))
        shares = ("" if share is None else f"{100 * share:.0f}" for share in (review.landlord, review.loss))
        made = [str(number + 1), str(review.seat), str(review.role), str(review.move)]
        lines.append([*made, *shares, review.better or ""])
    if not as_json:
        print_table(Table("", ("move", "seat", "role", "played", "landlord %", "lost %", "better"), lines))
