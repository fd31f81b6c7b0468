"""Tables of what the code says: actions, presets, options, commands, folders."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ddz_env.core.observation import OBSERVATION, STATE
from ddz_env.core.rules import PRESETS, Rules, differing_options
from ddz_env.envs.outputs import INFOS
from ddz_env.playing.registry import GROUP, POLICIES, list_agent_options
from ddz_env.support.options import format_option_value, parse_attribute_docs
from ddz_papers.experiments.registry import load_experiments
from ddz_training.cli import tables
from ddz_training.data.dataset import format_columns_table
from ddz_training.data.games import RecordedGame
from ddz_training.measure.markdown import Table, format_markdown_table

PACKAGES = {
    "ddz_env": "ddz_env",
    "ddz_agents": "agents/ddz_agents",
    "ddz_training": "training/ddz_training",
    "ddz_play": "play/ddz_play",
    "ddz_papers": "papers/ddz_papers",
}
"""The packages, and where they lie in a checkout."""


def opening(text: str | None) -> str:
    """The first paragraph of a text, on one line."""
    return " ".join((text or "").partition("\n\n")[0].split())


_ROLE = re.compile(r":\w+:`~?([^`<]*?)(?: <[^>]*>)?`")


def without_roles(text: str) -> str:
    """A docstring's text as Markdown: code between single marks, and no roles."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`")


def safe(lines: Iterable[Iterable[str]]) -> Iterable[list[str]]:
    """Cells of a docstring's text as Markdown, with bars that do not end them."""
    return ([without_roles(cell).replace("|", "\\|") for cell in line] for line in lines)


def page_table(table: Table) -> str:
    """A table of the command line as a page has it, without its note."""
    return format_markdown_table(table.header, safe(table.lines))


def info_table() -> str:
    """What every info holds, as numbers and as text."""
    rows = [(f"`{info.key}`", info.numbers, f"`{info.text_key}`", info.text, info.meaning) for info in INFOS]
    return format_markdown_table(("key", "number (`np.int64`)", 'key with `infos="text"`', "value", "meaning"), rows)


def preset_table() -> str:
    """What each preset sets, option by option, where presets differ."""
    rows: list[list[object]] = [
        [f"`{option}`", *(getattr(rules, option) for rules in PRESETS.values())] for option in differing_options()
    ]
    rows.append(["quads with kickers", *("quad+2 solos" in rules.categories for rules in PRESETS.values())])
    rows.append(["shuttles", *("shuttle" in rules.categories for rules in PRESETS.values())])
    names = [f"`{name}`" for name in PRESETS]
    return format_markdown_table(("option", *names), ([_plain(cell) for cell in row] for row in rows))


def _plain(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def meaning_table(what: str, kind: type[Any]) -> str:
    """The fields of a dataclass with their meaning, from its docstring."""
    meaning = parse_attribute_docs(kind)
    lines = ((f"`{field.name}`", meaning[field.name]) for field in dataclasses.fields(kind))
    return format_markdown_table((what, "meaning"), safe(lines))


def _own_agents() -> metadata.EntryPoints:
    """The agents of this distribution: others may be installed beside it."""
    return metadata.distribution("ddz-env").entry_points.select(group=GROUP)


ALIKE = (
    ("policy", "policy-without", "neural-ismcts"),
    ("isuct", "duct", "cheating-uct"),
    ("expectiminimax", "cheating-alpha-beta"),
    ("determinized-minimax", "expectimax"),
    ("payoff", "payoff-search"),
)
"""Agents that share options, which the page says once."""


def agent_options_tables() -> str:
    """The options of every agent that has some: of agents that are alike those of all, then what each has besides."""
    options = {name: tables.make_options_table(name, list_agent_options(name)) for name in sorted(_own_agents().names)}
    alone = [(name,) for name, table in options.items() if table.lines and not any(name in names for names in ALIKE)]
    return "\n\n".join(_options_section([options[name] for name in names], names) for names in (*ALIKE, *alone))


def _options_section(options: Sequence[Table], names: Sequence[str]) -> str:
    """A heading, a table of what some agents share, and a table of each one's other options."""
    first, *others = options
    shared = [line for line in first.lines if all(line in other.lines for other in others)]
    parts = [f"### {', '.join(f'`{name}`' for name in names)}", page_table(dataclasses.replace(first, lines=shared))]
    for name, table in zip(names, options, strict=True):
        if rest := [line for line in table.lines if line not in shared]:
            parts += [f"`{name}` also has:", page_table(dataclasses.replace(table, lines=rest))]
    return "\n\n".join(parts)


def agents_table() -> str:
    """What each named agent is, from the first paragraph of its docstring; nothing that it needs is imported."""
    agents = [(entry.name, _summary(entry.module, entry.attr)) for entry in _own_agents()]
    agents += [(policy.name, policy.meaning) for policy in POLICIES]
    return format_markdown_table(("agent", "what it is"), safe((f"`{name}`", about) for name, about in sorted(agents)))


def _summary(module: str, name: str) -> str:
    """The first paragraph of the docstring of a module's class or function, read from the source."""
    spec = find_spec(module)
    assert spec is not None, f"the package does not have the module {module}"
    source = ast.parse(Path(spec.origin or "").read_text(encoding="utf-8"))
    kinds = ast.ClassDef | ast.FunctionDef
    [defined] = [node for node in source.body if isinstance(node, kinds) and node.name == name]
    return opening(ast.get_docstring(defined))


def folders_table() -> str:
    """The folders of each package, from the first sentences of their docstrings."""
    rows = []
    for package, folder in PACKAGES.items():
        [where] = getattr(find_spec(package), "submodule_search_locations", None) or [folder]
        for file in (Path(where) / "__init__.py", *sorted(Path(where).glob("*/__init__.py"))):
            about = opening(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))))
            path = "/".join((folder, *file.parent.relative_to(where).parts))
            rows.append((f"`{path}/`", re.split(r"(?<=\.) ", about)[0]))
    return format_markdown_table(("folder", "what it holds"), safe(rows))


def experiment_table() -> str:
    """What each experiment repeats or measures."""
    rows = ((f"`{experiment.name}`", experiment.source, opening(experiment.about)) for experiment in load_experiments())
    return format_markdown_table(("experiment", "source", "what"), safe(rows))


def commands_table() -> str:
    """All commands in the order of the help: what each does, with an example."""
    rows = []
    for heading, name, command in _named("ddz_training.cli.app:list_commands")():
        [example, *_] = re.findall(r"(?m)^ +(ddz .*)$", command.help or "")
        rows.append((heading.lower(), f"`ddz {name}`", command.get_short_help_str(200), f"`{example}`"))
    return format_markdown_table(("", "command", "what it does", "for example"), rows)


def config_table(config: type[Any]) -> str:
    """The settings of a training, those of a part of them behind its name."""
    return format_markdown_table(("setting", "default", "meaning"), safe(_settings(config)))


def recipe_table() -> str:
    """The settings of each device that differ from the defaults."""
    recipes = _named("ddz_training.learn.ppo.config:RECIPES")
    changes = {
        device: ", ".join(f"`{name}={format_option_value(value)}`" for name, value in changed.items())
        for device, changed in recipes.items()
    }
    return format_markdown_table(("device", "changes"), [(device, text or "none") for device, text in changes.items()])


def _settings(config: type[Any], before: str = "") -> Iterable[tuple[str, str, str]]:
    meaning = parse_attribute_docs(config)
    for field in dataclasses.fields(config):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if dataclasses.is_dataclass(default):
            yield from _settings(type(default), f"{before}{field.name}.")
        else:
            yield f"`{before}{field.name}`", format_option_value(default) or "none", meaning.get(field.name, "")


def input_table(network: str) -> str:
    """What a network reads."""
    inputs = _named("ddz_agents.neural.architecture:INPUT_TABLES")[network]
    return format_markdown_table(("input", "columns", "what"), inputs.rows())


def _named(path: str) -> Any:
    """What ``module:name`` names, imported when it is needed: PyTorch is not there for every page."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


TABLES: dict[str, Callable[[], str]] = {
    "actions": lambda: page_table(tables.make_action_table()),
    "observation": lambda: page_table(tables.make_layout_table("Observation", OBSERVATION)),
    "state": lambda: page_table(tables.make_layout_table("State", STATE)),
    "infos": info_table,
    "presets": preset_table,
    "preset-differences": lambda: page_table(tables.make_preset_table()),
    "options": lambda: meaning_table("option", Rules),
    "agents": agents_table,
    "agent-options": agent_options_tables,
    "experiments": experiment_table,
    "folders": folders_table,
    "data-columns": format_columns_table,
    "data-games": lambda: meaning_table("field", RecordedGame),
    "commands": commands_table,
    "config-selfplay": lambda: config_table(_named("ddz_training.learn.ppo.config:SelfPlayConfig")),
    "recipes": recipe_table,
    "config-sb3": lambda: config_table(_named("ddz_training.learn.sb3.train:Sb3Config")),
    "inputs-policy": lambda: input_table("policy"),
    "inputs-rest": lambda: input_table("rest"),
    "inputs-critic": lambda: input_table("critic"),
}
