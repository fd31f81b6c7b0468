"""``ddz record``, ``replay``, ``export``, ``botzone`` and ``web``: games and agents for others."""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from ddz_env.core.errors import plural
from ddz_env.core.folders import user_folder
from ddz_env.core.options import Range
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.command import Argument, Command, Count, Natural, Playing, follow
from ddz_training.apps.cli.console import bar, quoted, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.outputs import File, check_output
from ddz_training.apps.cli.signals import answering, end_soon

with lazily():
    from ddz_agents.neural import onnx_files
    from ddz_agents.neural import shipped as shipped_policy
    from ddz_agents.neural import weights as neural_weights
    from ddz_env.peers.botzone import games as botzone_games
    from ddz_env.peers.botzone import log as botzone_log
    from ddz_env.peers.botzone import player as botzone_player
    from ddz_env.playing import agent as playing_agent
    from ddz_env.playing import registry
    from ddz_training.apps.botzone import bundle as botzone_bundle
    from ddz_training.apps.botzone import match as botzone_match
    from ddz_training.apps.web import games as web_games
    from ddz_training.apps.web import routes
    from ddz_training.apps.web import server as web_server
    from ddz_training.data import dataset
    from ddz_training.data import episodes as data_episodes
    from ddz_training.data import games as data_games
    from ddz_training.data import recording as data_recording
    from ddz_training.data import table as data_table

OFFERED = ("medium", "easy", "hard", "master", "policy", "rollout:milliseconds=300", "isuct", "random")
"""The levels of play, and agents for those who know them; the first by default."""
ADVISER = "neural-ismcts:milliseconds=500"
WEIGHTS, ONNX = ".safetensors", ".onnx"


class RecordCommand(Playing, call="record", heading="Train"):
    """Record games as a data set: tables of states and actions, and games that replay exactly.

    Attributes:
        agents: One agent plays itself; two play each deal from both sides; three sit seat by seat.
        out: Folder for games, tables and card; one with fewer deals is completed.
        deals: Deals to play.
        first_deal: Number of the first deal under the seed.
        visits: Record what searches think of every action; all agents must be searches.
        format: What to write beside the games: tables, or episodes for offline learners of other libraries.

    Example:
        ddz record rules --deals 1000 --out runs/rules-games
        ddz record rules --deals 1000 --out runs/rules-games --format minari
        ddz record isuct:iterations=2000 --visits --deals 200 --out visits
        ddz record rules policy --rules bidding --out runs/match --processes 4
    """

    agents: Argument[tuple[str, ...]]
    out: Annotated[Path, File(use="folder")]
    deals: Count = 100
    first_deal: Natural = 0
    visits: bool = False
    format: Literal["parquet", "minari"] = "parquet"

    def run(self) -> None:
        """Play the games and write the tables or episodes."""
        tables = self.format == "parquet"
        (data_table.check_tables if tables else data_episodes.check_minari)()
        recording = data_recording.Recording(self.agents, self.preset, self.seed, self.visits)
        store = recording.store(self.out / data_games.GAMES)
        with self.working("deals") as how:
            data_recording.record_games(recording, self.deals, first_deal=self.first_deal, store=store, **how)
        with bar("tables" if tables else "games") as on_progress:
            made = (dataset.write_data_set if tables else data_episodes.write_episodes)(self.out, on_progress)
        tell(f"{quoted(self.out)}: {plural(made.games, 'game')}, {plural(made.rows, 'row' if tables else 'step')}")
        if tables:
            follow("to learn from them", "train", "imitate", "--out", "warm.safetensors", "--data", self.out)


class ReplayCommand(Command, call="replay", heading="Train"):
    """Check that all games of a data set replay as they were recorded, or print one, to be opened on the page.

    Attributes:
        games: The data set's folder, or its file of games.
        deal: Print the game of this deal.
        game: With --deal: which of its games.

    Example:
        ddz replay runs/rules-games
        ddz replay runs/rules-games --deal 7
    """

    games: Argument[Path]
    deal: Natural | None = None
    game: Natural = 0

    def run(self) -> None:
        """Replay all games, or print one."""
        if self.deal is None:
            self.leave_out("games are counted within a --deal", "game")
        file = data_games.read_games(self.games)
        chosen = [one for one in file.games if self.deal is None or (one.deal, one.game) == (self.deal, self.game)]
        if not chosen:
            what = "games" if self.deal is None else f"game {self.game} of deal {self.deal}"
            raise data_games.DataSetError(f"{self.games} has no {what}")
        if self.deal is not None:
            click.echo(chosen[0].record(file.rules, file.agents), nl=False)
            return
        for one in chosen:
            one.replay(file.rules)
        tell(f"{plural(len(chosen), 'game')} replay as recorded")


class ExportCommand(Command, call="export", heading="Borders"):
    """Write a policy as an ONNX file, for any ONNX runtime and for ddz itself (policy:path=policy.onnx).

    Attributes:
        policy: Weights; the shipped policy by default.
        out: Where to write the file (FILE.onnx).
        half: Weights (a new FILE.safetensors) instead, in half precision: half the size, for ddz itself.

    Example:
        ddz export --out policy.onnx
        ddz export runs/first/policy.safetensors --out first.onnx
        ddz export policy.safetensors --half --out half.safetensors
    """

    policy: Argument[Annotated[Path | None, File(use="read")]] = None
    out: Annotated[Path, File()] = Path(f"policy{ONNX}")
    half: bool = False

    def run(self) -> None:
        """Read the weights and write them."""
        check_output(self.out, (WEIGHTS if self.half else ONNX,), new=self.half)
        weights = neural_weights.load_weights(shipped_policy.policy_path(self.policy))
        if self.half:
            neural_weights.save_weights(self.out, weights, half=True)
        else:
            onnx_files.export_onnx(weights, self.out)
        about = f"{weights.rules} rules, {weights.objective}{', half precision' if self.half else ''}"
        tell(f"{quoted(self.out)}: {self.out.stat().st_size / 1e6:.1f} MB, {about}")
        follow("to play it", "arena", f"policy:path={self.out}", "rules")


# --- ddz botzone -------------------------------------------------------------


class BotCommand(Command, call="botzone bot", heading="Borders"):
    """Be a bot of Botzone on standard input and output; which game it is, the first message says.

    Attributes:
        agent: The agent by name (ddz agents), with options.
        seed: Seed of the agent's draws.
        stay: Stay running between answers.

    Example:
        ddz botzone bot --agent rules
        ddz botzone bot --agent isuct:iterations=500 --stay
    """

    agent: str = "rules"
    seed: Natural = 0
    stay: bool = False

    def run(self) -> None:
        """Answer until the input ends."""
        made = registry.make_agent(self.agent)
        try:
            botzone_player.serve(made, sys.stdin, lambda line: print(line, flush=True), self.seed, self.stay)
        finally:
            playing_agent.close(made)


class BundleCommand(BotCommand, call="botzone bundle", heading="Borders"):
    """Write an agent as one archive to upload as a Python bot; it needs numpy and numba where it runs.

    Attributes:
        out: The archive.

    Example:
        ddz botzone bundle --agent rules --out bot.zip
    """

    out: Annotated[Path, File(".zip")] = Path("bot.zip")
    stay: bool = True

    def run(self) -> None:
        """Write the archive."""
        bundle = botzone_bundle.write_bundle(self.out, self.agent, self.seed, self.stay)
        data = f", of them {', '.join(bundle.data)}" if bundle.data else ""
        tell(f"{quoted(self.out)}: {bundle.size / 1e6:.2f} MB, {bundle.files} files{data}")


class BotzoneMatchCommand(Command, call="botzone match", heading="Borders"):
    """Play one match in the platform's JSON and print its record, faults and scores.

    Attributes:
        agents: Three agents, seat by seat; botzone:./bot for a program.
        game: FightTheLandlord (seat 0 is the landlord) or FightTheLandlord2.
        seed: Seed of the deal and of our agents.
        out: Write the log to this new file.

    Example:
        ddz botzone match rules botzone:./bot botzone:./bot
        ddz botzone match rules policy rules --game FightTheLandlord2 --out match.json
    """

    agents: Argument[tuple[str, ...]]
    game: str = "FightTheLandlord"
    seed: Natural = 0
    out: Annotated[Path | None, File(use="new")] = None

    def run(self) -> None:
        """Play it."""
        played = botzone_match.play_match(botzone_games.botzone_game(self.game), list(self.agents), self.seed)
        if self.out is not None:
            replace_file(self.out, str(played).encode())
        tell(played.record().removesuffix("\n"))


class LogCommand(Command, call="botzone log", heading="Borders"):
    """Print the matches of a log of the platform as readable records, played again move by move.

    Attributes:
        log: A log: a file, with one match or one a line.
        out: Folder for a data set of these matches, as ddz record writes it.

    Example:
        ddz botzone log match.json
        ddz botzone log matches.jsonl --out runs/botzone
    """

    log: Argument[Path]
    out: Annotated[Path | None, File(use="folder")] = None

    def run(self) -> None:
        """Read the log, and print or keep its matches."""
        matches = botzone_log.read_logs(self.log)
        if self.out is None:
            for each in matches:
                tell(each.record())
            return
        made = data_recording.keep_matches(self.out, matches)
        left_out = len(matches) - made.games
        kept = f"{plural(made.games, 'game')}, {plural(made.rows, 'row')}"
        tell(f"{quoted(self.out)}: {kept}; left out, not ended by play: {left_out}")


# --- ddz web -----------------------------------------------------------------


class WebCommand(Command, call="web", heading="Play"):
    """Serve a page to play, replay, analyse and ask on.

    Attributes:
        port: The port; 0 takes a free one.
        host: The address to listen on; by default only this machine reaches the page.
        known_as: A name by which browsers call the server, besides this machine's own.
        agent: An agent that may play; may be repeated, the first by default.
        adviser: Who gives hints; by default a search that thinks half a second.
        folder: Where games are kept; by default in the user's own data.
        open_: Open the page in the browser.

    Example:
        ddz web --open
        ddz web --agent rules --agent isuct:iterations=500 --adviser rollout
        ddz web --host 0.0.0.0 --known-as table.local --folder games
    """

    port: Annotated[int, Range(0, 65535)] = 8000
    host: str = "127.0.0.1"
    known_as: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    adviser: str | None = None
    folder: Path | None = None
    open_: bool = False

    def run(self) -> None:
        """Serve until Ctrl-C."""
        import webbrowser

        import uvicorn  # noqa: F401  # a missing extra is said first

        for name in filter(None, (*self.agent, self.adviser)):
            registry.make_agent(name)  # a wrong name is reported now, not to a player
        bound = self._bound()
        own = f"[{self.host}]" if ":" in self.host else self.host
        hosts = {"127.0.0.1", "localhost", "[::1]", own, *self.known_as}
        folder = self.folder or user_folder("XDG_DATA_HOME", ".local", "share") / "games"
        server = web_server.Server(folder, self.agent or OFFERED, self.adviser or ADVISER)
        app = routes.make_app(server, sorted(hosts))
        name = "localhost" if self.host in ("127.0.0.1", "::1") else self.host
        address = f"http://{name}:{bound.getsockname()[1]}/"
        tell(f"{address}  (Ctrl-C ends; games are kept)")
        server.preparation.start()
        if self.open_:
            webbrowser.open(address)
        try:
            _serve(routes.new_server(app), bound)
        finally:
            server.games.close()

    def _bound(self) -> socket.socket:
        """What listens.

        Raises:
            WebOptionError: If nothing can listen there.
        """
        try:
            return socket.create_server((self.host, self.port))
        except OSError as error:
            why = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                why = "another program does, perhaps another ddz web; name another --port, or 0 for a free one"
            raise web_games.WebOptionError(f"cannot listen on {self.host}:{self.port}: {why}") from error


def _serve(server: Any, bound: socket.socket) -> None:
    """Answer until Ctrl-C; every game is kept after each of its moves, so there is nothing left to save."""
    import asyncio

    def stop() -> None:
        server.should_exit = True
        end_soon()

    server.capture_signals = nullcontext  # ours answer: see ddz_training.apps.cli.signals
    with answering(stop):
        asyncio.run(server.serve(sockets=[bound]))
