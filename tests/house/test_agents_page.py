"""The page of the agents: no option is missing, shared ones are said once, and tables name the weights that played."""

from __future__ import annotations

import doctest
import re

import pytest

import code_tables
import result_tables
from ddz_env.playing.registry import list_agent_names, list_agent_options

SECTIONS = {
    name: section
    for section in code_tables.agent_options_tables().split("### ")
    for name in re.findall(r"`([\w-]+)`", section.partition("\n")[0])
}
"""The sections by the agents in their headings."""


@pytest.mark.parametrize("name", sorted(set(list_agent_names()) - {policy.name for policy in code_tables.POLICIES}))
def test_every_option_has_one_line_for_its_agent(name: str) -> None:
    """In the table of what agents share, or in the agent's own."""
    shared, *own = re.split(r"`([\w-]+)` also has:", SECTIONS.get(name, ""))
    table = shared + dict(zip(own[::2], own[1::2], strict=True)).get(name, "")
    options = [option.name for option in list_agent_options(name)]
    assert sorted(re.findall(r"(?m)^\| `(\w+)` \|", table)) == sorted(options)


def test_two_agents_that_differ_share_the_rest() -> None:
    assert SECTIONS["policy"] == SECTIONS["neural-ismcts"]
    assert SECTIONS["policy"].count("| `trust_file` |") == 1


def test_tables_name_the_policies_that_played() -> None:
    assert doctest.testmod(result_tables) == (0, 1)
    old, new = {"policy.safetensors": "cea81e728b42ffcb"}, {"policy-v3.safetensors": "aa652c8f9985cb91"}
    files = {"policy": old, "neural-ismcts:trees=1": {"belief.safetensors": "0123", **new}, "policy-without": old}
    assert result_tables.weights_notes(files) == [
        "`policy` and `policy-without` play with `policy-v1`.",
        "`neural-ismcts` plays with `policy-v3`.",
    ]
    assert result_tables.weights_notes({"policy": new}, "The weights are `policy-v3`.") == []
    assert "with `policy-v" in result_tables.TABLES["strengths-of-agents"]()
