"""Weights on disk: what is written is read, and what is broken is refused by name."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save

from ddz_agents.neural import tensor_file
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.network import Architecture, Critic, PolicyNetwork
from ddz_agents.neural.tensor_file import _digest, read_tensor_file, write_tensor_file
from ddz_agents.neural.tensor_file import make_heading as heading_of
from ddz_agents.neural.weights import KIND, VERSION, Weights, load_weights, module_arrays, save_weights

SMALL = Architecture(width=8, blocks=1, rest_width=4, rest_features=4, critic_width=8, critic_blocks=0, history=0)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "policy.safetensors"
    save_weights(
        path, Weights.of(PolicyNetwork(SMALL), Critic(SMALL), rules="rlcard", objective="stake", notes={"seed": 3})
    )
    return path


def same(one: Any, other: Any, become: Callable[[torch.Tensor], torch.Tensor] = torch.Tensor.float) -> bool:
    ours, theirs = one.state_dict(), {name: torch.from_numpy(array) for name, array in other.items()}
    assert all(tensor.dtype == torch.float32 for tensor in theirs.values())
    return ours.keys() == theirs.keys() and all(torch.equal(become(ours[name]), theirs[name]) for name in ours)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    policy, critic, path = PolicyNetwork(SMALL), Critic(SMALL), tmp_path / "a" / "w.safetensors"
    save_weights(path, Weights.of(policy, critic, rules="rlcard", objective="stake", notes={"seed": 3}))
    loaded = load_weights(path)
    assert same(policy, loaded.policy)
    assert same(critic, loaded.critic)
    assert (loaded.rules, loaded.objective, loaded.notes) == ("rlcard", "stake", {"seed": 3})
    assert loaded.values_trained
    save_weights(path, Weights.of(policy, values_trained=False))
    other = load_weights(path)
    assert (other.critic, other.values_trained) == (None, False)
    arrays, about = read_tensor_file(path, KIND, VERSION)
    del about["values_trained"]
    write_tensor_file(path, KIND, VERSION, arrays, about)
    assert load_weights(path).values_trained, "files of old do not say"
    assert [file.name for file in path.parent.iterdir()] == [path.name], "replaced, and nothing else is left"


def test_half_precision_halves_the_file_and_rounds_the_weights(tmp_path: Path) -> None:
    policy, critic = PolicyNetwork(SMALL), Critic(SMALL)
    whole, half = tmp_path / "whole.safetensors", tmp_path / "half.safetensors"
    for path in (whole, half):
        save_weights(path, Weights.of(policy, critic, rules="rlcard"), half=path == half)
    numbers = sum(tensor.numel() for module in (policy, critic) for tensor in module.state_dict().values())
    assert whole.stat().st_size - half.stat().st_size == pytest.approx(2 * numbers, abs=64)
    loaded = load_weights(half)
    assert same(policy, loaded.policy, lambda tensor: tensor.half().float())
    assert same(critic, loaded.critic, lambda tensor: tensor.half().float())
    policy.logits.bias.data[3] = 70_000.0  # which half precision does not have
    with pytest.raises(TensorFileError, match=r"policy\.logits\.bias holds numbers above 65,504"):
        save_weights(tmp_path / "refused.safetensors", Weights.of(policy), half=True)
    assert not (tmp_path / "refused.safetensors").exists()


def test_a_file_that_was_cut_off_or_in_which_a_bit_was_flipped_is_refused(saved: Path) -> None:
    data, rng = saved.read_bytes(), np.random.default_rng(0)
    for left in (*(data[:length] for length in (0, 4, 8, 100, len(data) // 2, len(data) - 1)), b"\xff" * 40):
        saved.write_bytes(left)
        with pytest.raises(TensorFileError, match="truncated"):
            load_weights(saved)
    for place in (*rng.integers(0, len(data), 40).tolist(), len(data) - 1):
        broken = bytearray(data)
        broken[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(broken)
        with pytest.raises(TensorFileError):
            load_weights(saved)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    path = tmp_path / "policy.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(TensorFileError):
        load_weights(path)
    torch.save({"weights": Trap()}, path)
    with pytest.raises(TensorFileError):
        load_weights(path)
    assert not (tmp_path / "sprung").exists()


def test_files_of_another_kind_are_refused_by_name(
    tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "nothing.safetensors", tmp_path):
        with pytest.raises(TensorFileError, match="there is no such file"):
            load_weights(path)
    with pytest.raises(TensorFileMismatchError, match="is not a ddz-selfplay-checkpoint file but 'ddz-policy'"):
        read_tensor_file(saved, "ddz-selfplay-checkpoint", VERSION)
    with pytest.raises(TensorFileMismatchError, match="this package reads 2"):
        read_tensor_file(saved, KIND, VERSION + 1)
    monkeypatch.setattr(tensor_file, "readable_layouts", lambda: frozenset({"0" * 16}))
    with pytest.raises(TensorFileMismatchError, match="with the fingerprint"):
        load_weights(saved)


def arrays_and_about() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    about = {"architecture": SMALL.as_dict(), "rules": "standard", "objective": "win", "notes": {}}
    return module_arrays(PolicyNetwork(SMALL), "policy."), about


@pytest.mark.parametrize(
    ("array", "about"),
    [
        ({"policy.logits.bias": None}, {}),
        ({"policy.surprise": np.zeros(3, np.float32)}, {}),
        ({"policy.logits.bias": np.zeros(399, np.float32)}, {}),
        ({"policy.logits.bias": np.zeros(400, np.float64)}, {}),
        ({}, {"rules": None}),
        ({}, {"rules": 5}),
        ({}, {"objective": "elo"}),
        ({}, {"notes": [1]}),
        ({}, {"values_trained": "no"}),
        ({}, {"architecture": 5}),
        ({}, {"architecture": {"width": 8}}),
        ({}, {"architecture": SMALL.as_dict() | {"width": 16}}),
        ({}, {"architecture": SMALL.as_dict() | {"width": "wide"}}),
        ({}, {"architecture": SMALL.as_dict() | {"width": 8192, "blocks": 64}}),  # 17 GB, which must not be allocated
    ],
)
def test_weights_that_do_not_fit_their_architecture_are_refused(
    array: dict[str, Any], about: dict[str, Any], tmp_path: Path
) -> None:
    """None takes an entry away."""
    arrays, told = (
        {name: value for name, value in (good | changes).items() if value is not None}
        for good, changes in zip(arrays_and_about(), (array, about), strict=True)
    )
    write_tensor_file(tmp_path / "w", KIND, VERSION, arrays, told)
    with pytest.raises(TensorFileMismatchError, match=r"architecture|metadata"):
        load_weights(tmp_path / "w")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused_when_they_are_read(value: float, tmp_path: Path) -> None:
    for name in ("policy.logits.bias", "critic.value.weight"):
        arrays, about = arrays_and_about()
        arrays |= module_arrays(Critic(SMALL), "critic.")
        arrays[name] = arrays[name].copy()
        arrays[name].flat[-1] = value
        write_tensor_file(tmp_path / "w", KIND, VERSION, arrays, about)
        with pytest.raises(TensorFileError, match=f"{name} holds numbers that are not finite"):
            load_weights(tmp_path / "w")


@pytest.mark.parametrize("about", ["", "no JSON", "[1, 2]", "null", "[" * 100_000])
def test_a_header_that_is_no_plain_data_is_refused(about: str, tmp_path: Path) -> None:
    arrays, _ = arrays_and_about()
    metadata = {**heading_of(KIND, VERSION), "about": about, "digest": _digest(arrays, about)}
    (tmp_path / "w").write_bytes(save(arrays, metadata))
    with pytest.raises(TensorFileMismatchError, match="metadata"):
        load_weights(tmp_path / "w")


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "F32", "\ud800", "9" * 5000])
JUNK = st.recursive(SCALARS, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3))
ENTRIES = JUNK | st.fixed_dictionaries(
    {
        "dtype": JUNK | st.sampled_from(["F32", "I8", "BOOL"]),
        "shape": JUNK | st.lists(st.integers(-1, 2**62) | st.just(2), max_size=3),
        "data_offsets": JUNK | st.sampled_from([[0, 8], [0, 16], [8, 16], [16, 16], [-8, 0], [0.0, 16]]),
    }
)


@settings(max_examples=300)
@given(header=JUNK | st.dictionaries(st.sampled_from(["a", "b", "__metadata__"]), ENTRIES))
def test_whatever_a_header_says_is_answered_by_a_named_error(
    header: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text, path = json.dumps(header).encode(), tmp_path_factory.getbasetemp() / "header"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
    with pytest.raises(TensorFileError):
        load_weights(path)


def test_arrays_of_every_type_and_shape_survive(tmp_path: Path) -> None:
    arrays = {
        "words": np.arange(6, dtype=np.uint64).reshape(2, 3) + np.uint64(2**63),
        "bytes": np.arange(-3, 3, dtype=np.int8),
        "flags": np.array([True, False]),
        "number": np.array(2.5, np.float32),
        "empty": np.zeros((0, 4), np.float32),
        "strided": np.arange(12, dtype=np.int64).reshape(3, 4).T,
    }
    write_tensor_file(tmp_path / "file", "things", 1, arrays, {"big": 2**100, "text": "斗地主"})
    found, about = read_tensor_file(tmp_path / "file", "things", 1)
    assert about == {"big": 2**100, "text": "斗地主"}
    for read in (found, load_file(tmp_path / "file")):  # as the package safetensors reads it, too
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
            assert (read[name] == array).all()
    with pytest.raises(TensorFileError, match="cannot write"):
        write_tensor_file(tmp_path / "file" / "below", "things", 1, {}, {})


def _entry(first: object, stop: object, shape: object = (2,), dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, stop]}


@pytest.mark.parametrize(
    "header",
    [
        [1, 2],
        {"a": {}},
        {"a": _entry(0, 8), "b": _entry(0, 8)},  # on top of each other
        {"a": _entry(0, 8), "b": _entry(9, 17)},  # with a hole
        {"a": _entry(0, 8)},  # bytes behind
        {"a": _entry(0, 16, (2**62, 2))},
        {"a": _entry(0, 16, (4,), "F4096")},
        {"a": _entry(0, 24, (6,))},  # beyond the end
        {"a": _entry("0", "16", (4,))},
        {"__metadata__": {"kind": 5}, "a": _entry(0, 16, (4,))},
    ],
)
def test_a_header_that_does_not_fit_its_bytes_is_refused(header: object, tmp_path: Path) -> None:
    text = json.dumps(header).encode()
    (tmp_path / "w").write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
    with pytest.raises(TensorFileError, match="is not a ddz-policy file, or was truncated"):
        load_weights(tmp_path / "w")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"kind": "9" * 100_000}, r"but '9+\.\.\.$"),
        ({"kind": KIND, "version": "9" * 100_000}, r"has version '9+\.\.\. of"),
        ({"about": " " * 8 * 2**20}, "its header would have"),
    ],
)
def test_what_a_header_says_at_length_is_neither_read_nor_repeated(
    metadata: dict[str, str], message: str, tmp_path: Path
) -> None:
    text = json.dumps({"__metadata__": metadata}).encode()
    (tmp_path / "w").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(TensorFileError, match=message) as caught:
        load_weights(tmp_path / "w")
    assert len(str(caught.value)) < 200 + len(str(tmp_path))
