"""Anybody's network plays, answers for opponents and guides a search; the guide's own file does all of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402  # behind the check that PyTorch is installed

from ddz_agents.neural.agent import ModelAgent  # noqa: E402
from ddz_agents.neural.errors import InvalidPolicyOutputError  # noqa: E402
from ddz_agents.neural.torch_model import TorchModel  # noqa: E402
from ddz_agents.neural_search.agent import ModelSearchAgent, ModelSearchOptions  # noqa: E402
from ddz_env import State  # noqa: E402
from ddz_env.core.observation import OBSERVATION, action_mask, observe  # noqa: E402
from ddz_env.playing.registry import make_agent  # noqa: E402
from ddz_env.support.errors import InvalidOptionError  # noqa: E402
from tests.packages import ROOT  # noqa: E402

GUIDE = ROOT / "docs" / "guides" / "bring-your-own-agent.md"


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(512, 16), nn.Dropout(0.5), nn.Tanh())
        self.logits, self.value = nn.Linear(16, 400), nn.Linear(16, 1)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(observations)
        return self.logits(hidden), self.value(hidden)


class Attention(Mlp):
    """Sixteen tokens of 32 bytes look at each other."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 2, 32, batch_first=True)
        self.body = nn.Sequential(nn.Unflatten(1, (16, 32)), layer, nn.Flatten(), nn.Linear(512, 16))


@pytest.fixture(params=[Mlp, Attention])
def network(request: pytest.FixtureRequest) -> nn.Module:
    torch.manual_seed(0)
    return request.param()  # type: ignore[no-any-return]


class Answer(nn.Module):
    """Answers what it is given to answer."""

    def __init__(self, answer: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, observations: Tensor, masks: Tensor) -> Any:
        return self.answer(observations)


def seen(count: int = 3) -> tuple[Any, Any]:
    states = [State.new(seed) for seed in range(count)]
    return np.stack([observe(state) for state in states]), np.stack([action_mask(state) for state in states])


@pytest.mark.parametrize(("dtype", "kind"), [("float32", torch.float32), ("int8", torch.float64)])
def test_its_answers_are_probabilities_of_legal_actions(network: nn.Module, dtype: str, kind: Any) -> None:
    observations, masks = seen()
    logs, values = TorchModel(network.to(kind), dtype).evaluate(observations, masks)
    scaled = observations / OBSERVATION.high if dtype == "float32" else observations
    with torch.no_grad():
        logits, value = network.eval()(torch.tensor(scaled, dtype=kind), torch.tensor(masks))
    expected = torch.where(torch.tensor(masks) > 0, logits, -torch.inf).softmax(1)
    assert np.allclose(np.exp(logs), expected, atol=1e-5)
    assert np.allclose(values, value[:, 0].clamp(-1, 1), atol=1e-5)
    assert (logs.dtype, values.dtype, values.shape) == (np.float32, np.float32, (3,))


def test_one_call_answers_for_all_games_that_wait_and_a_search_asks_it(network: nn.Module) -> None:
    sizes: list[int] = []
    model = TorchModel(network)
    network.register_forward_hook(lambda module, given, answer: sizes.append(len(given[0])))
    games = gymnasium.make_vec("ddz_env/DouDizhu-v0", 16, rules="mini", opponents=ModelAgent(model))
    games.reset(seed=1)
    assert max(sizes) > 4
    sizes.clear()
    searcher = ModelSearchAgent(model, ModelSearchOptions(iterations=40, particles=0, skip_search_above=1.0))
    assert sum(searcher.decide(State.new(1).view(), np.random.default_rng(0)).visits.values()) >= 40
    assert len(sizes) > 2


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (lambda seen: (seen[:, :399], seen[:, 0]), r"logits must be a tensor of shape \[2, 400\], not .*\[2, 399\]"),
        (lambda seen: (seen[:, :400], seen), r"values must be a tensor of shape \[2\] or \[2, 1\], not .*\[2, 512\]"),
        (lambda seen: {"logits": seen}, "logits must be a tensor"),
        (lambda seen: (seen[:, :400] / 0, seen[:, 0]), "logits are NaN or infinite"),
        (lambda seen: (seen[:, :400], seen[:, 0] / 0), "values are NaN or infinite"),
    ],
)
def test_a_wrong_answer_has_a_named_error_before_the_first_game(answer: Callable[[Tensor], Any], right: str) -> None:
    with pytest.raises(InvalidPolicyOutputError, match=right):
        TorchModel(Answer(answer))


def test_a_module_that_takes_no_mask_has_a_named_error() -> None:
    with pytest.raises(InvalidPolicyOutputError, match="must take observations and masks"):
        TorchModel(nn.Sequential(nn.Linear(512, 401)))


def test_values_may_be_missing_or_beyond_the_ends() -> None:
    observations, masks = seen()
    for answer, leaf, value in (
        (lambda seen: seen[:, :400], "playout", 0.0),
        (lambda seen: (seen[:, :400], seen[:, 0] + 7), "value", 1.0),
    ):
        model = TorchModel(Answer(answer))
        assert (model.leaf, model.evaluate(observations, masks)[1].tolist()) == (leaf, [value] * 3)
    with pytest.raises(InvalidOptionError, match="dtype"):
        TorchModel(Mlp(), "int32")


@pytest.fixture
def guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The file of the guide, with weights, as a module in the current folder."""
    [source] = re.findall(r"```python\n(import torch\n.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "mynet.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import mynet  # type: ignore[import-not-found]

    torch.save(mynet.Network().state_dict(), "mynet.pt")
    yield mynet
    del sys.modules["mynet"]


def test_the_file_of_the_guide_is_an_agent_by_name(guide: Any) -> None:
    rng, view = np.random.default_rng(0), State.new(1).view()
    for spec in ("mynet:Player", "mynet:Player:temperature=1", "mynet:Searcher:iterations=20,particles=0"):
        assert make_agent(spec).act(view, rng) in view.legal_moves()
