"""Episodes for Minari, the offline RL format: what one seat observed, did and was rewarded with in a game.

An episode is what a learner in that seat of the Gymnasium environment would have lived through, so any library for one
agent can learn from it: one step per stage of a decision, masks beside the observations (those of the next step, too,
which the targets of Q-learning need), the return on the last step and zero before.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from ddz_env import State
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import action_mask, fingerprint, observe
from ddz_env.envs.outputs import ObservationForm
from ddz_env.support.atomic_files import read_text
from ddz_env.support.errors import install_hint
from ddz_training.data.dataset import DataSet
from ddz_training.data.games import DataSetError, GameFile, RecordedGame, read_games
from ddz_training.data.table import make_rows
from ddz_training.measure.duplicate import LETTERS
from ddz_training.measure.store import locked_for_writing

if TYPE_CHECKING:
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

EPISODES = "data"
"""The folder of a data set that holds its episodes: the name under which Minari looks for them."""
_METADATA_KEY = "ddz"
_OBSERVATION, _MASK = "observation", "action_mask"


def check_minari() -> None:
    """Raise an error if Minari, h5py or Pillow, which write episodes, is not installed.

    Raises:
        DataSetError: If Minari, h5py or Pillow is not installed.
    """
    missing = [name for name in ("minari", "h5py", "PIL") if importlib.util.find_spec(name) is None]
    if missing:
        raise DataSetError(f"episodes need {' and '.join(missing)}, on Python 3.11 or later: {install_hint('minari')}")


def write_episodes(folder: Path, on_game: Callable[[int, int], None] = lambda done, total: None) -> DataSet:
    """Write the games of a data set's folder as Minari episodes, unless complete episodes are already there.

    Args:
        folder: The folder, with ``games.sqlite``.
        on_game: Called with how many games are done, and how many there are.

    Returns:
        The number of games, and of steps.

    Raises:
        DataSetError: If there are no games, Minari is not installed, or a file cannot be written.
        GameRecordError: If a game does not replay.
    """
    check_minari()
    file = read_games(folder)
    about = {"fingerprint": fingerprint(), "games": len(file.games), **file.settings}
    with locked_for_writing(folder / EPISODES) as path:
        if _read_metadata(path).get(_METADATA_KEY) != about:
            try:
                _replace_episodes(path, file, about, on_game)
            except OSError as error:
                raise DataSetError(f"cannot write {path}: {error.strerror or error}") from error
        return DataSet(len(file.games), _read_metadata(path)["total_steps"])


def _replace_episodes(
    path: Path, file: GameFile, about: Mapping[str, Any], on_game: Callable[[int, int], None]
) -> None:
    """Write all episodes to a temporary folder, and replace the old ones once all are complete."""
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        storage = _new_storage(Path(temporary) / path.name, path.parent.name, file)
        _write_all(storage, file, on_game)
        storage.update_metadata({_METADATA_KEY: about})
        shutil.rmtree(path, ignore_errors=True)
        storage.data_path.rename(path)


def _read_metadata(path: Path) -> Mapping[str, Any]:
    """Return Minari's metadata of the episodes, or an empty mapping if there are no episodes."""
    try:
        metadata = json.loads(read_text(path / "metadata.json"))
    except (OSError, ValueError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _new_storage(path: Path, name: str, file: GameFile) -> MinariStorage:
    """Create the Minari storage for episodes, with the last recorded agent as the environment's opponent."""
    import minari
    from minari.dataset.minari_storage import MinariStorage

    spec = copy.deepcopy(gymnasium.spec("ddz_env/DouDizhu-v0"))
    spec.kwargs.update(rules=file.rules.name, opponents=file.agents[-1], observation="dict")
    observed = ObservationForm("dict", "int8", _OBSERVATION, _MASK).make_space()
    storage = MinariStorage.new(path, observed, gymnasium.spaces.Discrete(NUM_ACTIONS), spec)
    identity = f"{re.sub(r'-v[0-9]+$', '', re.sub(r'[^-0-9A-Za-z_]', '-', name))}-v0"
    storage.update_metadata({"dataset_id": identity, "minari_version": minari.__version__})
    return storage


def _write_all(storage: MinariStorage, file: GameFile, on_game: Callable[[int, int], None]) -> None:
    """Write the episodes of all games and their metadata to a Minari storage."""
    metadata: list[dict[str, Any]] = []

    def episodes() -> Iterator[EpisodeBuffer]:
        for done, game in enumerate(file.games, 1):
            for about, episode in make_episodes(game, file):
                metadata.append(about)
                yield episode
            on_game(done, len(file.games))

    storage.update_episodes(episodes())
    storage.update_episode_metadata(metadata)


def make_episodes(game: RecordedGame, file: GameFile) -> Iterator[tuple[dict[str, Any], EpisodeBuffer]]:
    """Yield an episode and its metadata for each seat that made a decision in a game.

    Args:
        game: The game.
        file: The file of games that it is from.

    Yields:
        The metadata and the episode: ``n`` actions and rewards, ``n + 1`` observations and masks,
        of which the last mask is zero.
    """
    from minari.data_collector import EpisodeBuffer

    rows = [
        (row.state.seat, row.move.actions[row.stage], observe(row.state), action_mask(row.state))
        for row in make_rows(game, file.rules, file.agents)
    ]
    over = game.replay(file.rules)
    for seat in range(file.rules.players):
        actions, observations, masks = ([row[part] for row in rows if row[0] == seat] for part in (1, 2, 3))
        if not actions:
            continue
        last = np.arange(len(actions)) == len(actions) - 1
        episode = EpisodeBuffer(
            observations={
                _OBSERVATION: np.stack([*observations, observe(over, seat)]),
                _MASK: np.stack([*masks, action_mask(over)]),
            },
            actions=np.array(actions),
            rewards=np.where(last, over.returns()[seat], 0.0),
            terminations=last,
            truncations=np.zeros_like(last),
        )
        yield _make_metadata(game, file, over, seat), episode


def _make_metadata(game: RecordedGame, file: GameFile, over: State, seat: int) -> dict[str, Any]:
    """Return an episode's metadata: deal, game, seat, role, agent and result."""
    return {
        "deal": game.deal,
        "game": game.game,
        "seat": seat,
        "role": over.role(seat) or "",
        "agent": file.agents[LETTERS.index(game.seats[seat])],
        "win": game.win[seat],
        "stake": game.stake[seat],
    }
