"""The files that ship: who they are, that they are read for ever, and that they choose what they always chose."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.belief.model import BeliefModel, load_belief
from ddz_agents.neural import tensor_file
from ddz_agents.neural.architecture import (
    EARLIER_INPUTS,
    INPUT_TABLES,
    check_inputs,
    describe_inputs,
    pad_missing_inputs,
)
from ddz_agents.neural.errors import TensorFileMismatchError
from ddz_agents.neural.feature_table import (
    FeatureColumn,
    FeatureGroup,
    FeatureTable,
    observation_columns,
    policy_inputs,
)
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import Bytes
from ddz_agents.neural.shipped import BY_ID, NEWEST, POLICIES, RAW, policy_name, policy_path, shipped_policy_path
from ddz_agents.neural.weights import KIND, VERSION, load_weights, save_weights
from ddz_env import State
from ddz_env.core.observation import OBSERVATION, Feature, Layout, action_mask, observe
from ddz_env.core.observation import layout as layouts
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidAgentOptionError
from ddz_training.measure.provenance import digest_agent_files, digest_file

CHOICES = {
    "policy-v1": "f3c31a439bafa4f8",
    "policy-v2": "81ad27ebec8c54ba",
    "policy-v3": "464a82b66de677de",
    "points": "df789f26f551ab8d",
    "policy-raw": "ca0a8c8fd45df2ba",
}
"""Digests of what each shipped policy chooses in 10,000 positions: computed when its file took its last form."""

FILES = {
    "policy-v1": "cfd085c33437f77a",
    "policy-v2": "f6273136737c9a5b",
    "policy-v3": "aa652c8f9985cb91",
    "points": "004c9920b38c0507",
    "belief": "f38b7853942046e2",
    "policy-raw": "1149463c94ad050b",
}
"""Digests of the files, which never change; only the newest policy's does when there is a newer one."""

WORLDS = "5731d361135703bd"
"""That of the hands that the belief network draws."""


@pytest.fixture(scope="module")
def positions() -> tuple[Bytes, Bytes]:
    """Observations and masks of 10,000 choices in random games, with and without an auction."""
    rng, seen, masks, game = np.random.default_rng(20), list[Bytes](), list[Bytes](), 0
    while len(seen) < 10_000:
        state = State.new(game, "standard" if game % 4 else "bidding,doubling=true")
        while not state.is_over:
            legal = state.legal_actions()
            if len(legal) > 1:
                seen.append(observe(state))
                masks.append(action_mask(state))
            state.step_action(legal[int(rng.integers(len(legal)))])
        game += 1
    return np.stack(seen[:10_000]), np.stack(masks[:10_000])


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def needs_extra(name: str) -> None:
    """Skip what is about an ONNX file where ONNX Runtime is not installed."""
    if name == RAW:
        pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", CHOICES)
def test_a_shipped_policy_chooses_what_it_always_chose(name: str, positions: tuple[Bytes, Bytes]) -> None:
    needs_extra(name)
    logs, _ = load_policy(name).evaluate(*positions)
    assert digest(logs.argmax(axis=1).astype("<i2").tobytes()) == CHOICES[name]


def drawn(model: BeliefModel) -> str:
    """The digest of hands that a belief network draws in random games."""
    rng, hands = np.random.default_rng(21), list[bytes]()
    for game in range(8):
        state = State.new(game)
        while not state.is_over:
            proposal = model.propose(state.view(), np.random.default_rng(game), 4)
            assert proposal is not None
            hands.append(proposal.hands.astype("<u8").tobytes())
            legal = state.legal_actions()
            state.step_action(legal[int(rng.integers(len(legal)))])
    return digest(*hands)


def test_the_belief_network_draws_what_it_always_drew() -> None:
    assert drawn(load_belief()) == WORLDS


def test_the_files_are_those_that_shipped() -> None:
    folder = shipped_policy_path().parent
    assert {
        file.stem: digest_file(file) for ending in ("safetensors", "onnx") for file in folder.glob(f"*.{ending}")
    } == FILES
    assert all(FILES[name] == digests[-1] for name, digests in BY_ID.items())
    assert load_weights(shipped_policy_path()).critic is not None
    for name in POLICIES.keys() - {NEWEST}:
        assert load_weights(policy_path(name)).critic is None, "which only neural-ismcts asks"


@pytest.mark.parametrize("name", BY_ID)
def test_a_policy_is_an_agent_by_its_id(name: str) -> None:
    needs_extra(name)
    assert make_agent(name).name == name == make_agent(f"policy:path={name}").name
    assert (
        digest_agent_files(name) == digest_agent_files(f"policy:path={name}") == {policy_path(name).name: FILES[name]}
    )
    with pytest.raises(InvalidAgentOptionError, match="'path' is given twice"):
        make_agent(f"{name}:path=points")


def test_the_newest_policy_has_no_name_that_changes() -> None:
    assert digest_agent_files("policy") == digest_agent_files(NEWEST)
    assert (make_agent("policy").name, policy_name("1234")) == ("policy", "1234")


# --- Layouts ----------------------------------------------------------------------------------------------------------


def changed(first: Feature, *, move: bool = False) -> Layout:
    """The observation's layout with another first feature, or with the last one in front."""
    features = (first, *OBSERVATION.features[1:])
    return Layout((features[-1], *features[:-1]) if move else features)


HAND = OBSERVATION.features[0]
ADDED = replace(OBSERVATION.features[-1], name="added", size=8, description="What a later version sees, too.")


def test_the_points_policy_is_a_file_of_0_2_0() -> None:
    """It stands for all of them: a fingerprint of sentences, and no names of inputs."""
    with policy_path("points").open("rb") as file:
        heading = file.read(4096)
    assert b'"layout":"70fe356474e77c0d"' in heading
    assert b"inputs" not in heading
    assert describe_inputs("policy", "rest", "critic") == EARLIER_INPUTS


@pytest.mark.parametrize(
    ("layout", "read"),
    [
        (changed(replace(HAND, description="worded anew")), True),
        (Layout((*OBSERVATION.features, ADDED)), True),
        (Layout((*OBSERVATION.features[:-1], ADDED, OBSERVATION.features[-1])), False),
        (Layout(OBSERVATION.features[:-9]), False),
        (changed(replace(HAND, name="cards")), False),
        (changed(replace(HAND, high=4)), False),
        (changed(replace(HAND, low=-1)), False),
        (changed(replace(HAND, size=HAND.size + 8)), False),
        (changed(HAND, move=True), False),
    ],
)
def test_a_file_is_read_after_another_sentence_or_a_longer_layout_and_refused_after_another(
    layout: Layout, read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "OBSERVATION", layout)
    monkeypatch.setattr(tensor_file, "OBSERVATION", layout)
    monkeypatch.setattr(tensor_file, "readable_layouts", tensor_file.readable_layouts.__wrapped__)
    if read:
        load_weights(policy_path("points"))
    else:
        with pytest.raises(TensorFileMismatchError, match="with the fingerprint '70fe356474e77c0d'"):
            load_weights(policy_path("points"))


@pytest.mark.parametrize("part", ["action_name", "CONCEALED", "PROSPECT_NUMBERS"])
def test_actions_concealed_cards_and_prices_are_part_of_the_layout(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tensor_file.layout_fingerprint()
    others = {"action_name": str, "CONCEALED": OBSERVATION, "PROSPECT_NUMBERS": (8, 12)}
    monkeypatch.setattr(tensor_file if part == "PROSPECT_NUMBERS" else layouts, part, others[part])
    assert tensor_file.layout_fingerprint() != before


# --- Inputs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [1, 2, 10])
def test_a_network_answers_as_it_did_where_an_input_was_added_later(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights for that are zero, in the place of the new columns: before, behind and long after the history."""
    inputs, read, history = policy_inputs(1).inputs, describe_inputs("policy")["policy"], 2
    layer = np.random.default_rng(place).random((4, observation_columns(history) + 5))  # five of something else
    assert pad_missing_inputs(layer, read, "policy", history) is layer
    monkeypatch.setitem(
        INPUT_TABLES,
        "policy",
        FeatureTable(*inputs[:place], FeatureGroup("bombs", "", (FeatureColumn(0, 0),) * 3), *inputs[place:]),
    )
    first = sum(len(entry.columns) * (history if entry.name == "history" else 1) for entry in inputs[:place])
    wide = pad_missing_inputs(layer, read, "policy", history)
    np.testing.assert_array_equal(wide, np.insert(layer, [first] * 3, 0.0, axis=1))
    check_inputs("it", None, "policy")  # and a file that does not name it is read


@pytest.mark.parametrize("table", INPUT_TABLES)
def test_a_file_is_refused_where_an_input_went_or_is_another(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, (first, *others) = policy_path("points"), INPUT_TABLES[table].inputs
    for other in ([], [first._replace(name="another")], [first._replace(columns=first.columns[:1] * 7)]):
        monkeypatch.setitem(INPUT_TABLES, table, FeatureTable(*other, *others))
        with pytest.raises(TensorFileMismatchError, match=f"reads the {table} inputs .*'{first.name}="):
            load_weights(path)


@pytest.mark.parametrize("inputs", [5, {}, {"policy": 5}, {"policy": [5]}, {"policy": [["table", 256]]}])
def test_names_of_inputs_that_are_something_else_are_refused(inputs: object) -> None:
    with pytest.raises(TensorFileMismatchError, match="reads the policy inputs"):
        check_inputs("it", inputs, "policy")


def test_a_file_names_what_its_networks_read(tmp_path: Path) -> None:
    both = load_weights(policy_path("points"))
    for weights, tables in ((both, ("policy", "rest", "critic")), (replace(both, critic=None), ("policy", "rest"))):
        save_weights(tmp_path / "w", weights)
        _, about = tensor_file.read_tensor_file(tmp_path / "w", KIND, VERSION)
        assert about["inputs"] == describe_inputs(*tables)
        load_weights(tmp_path / "w")
