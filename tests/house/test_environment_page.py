"""The page of the environment shows every option of its calls, with today's defaults."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re

from ddz_env import dou_dizhu_v0
from ddz_env.envs.gym import VectorOptions
from tests.packages import ROOT

TEXT = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")


def test_the_call_has_all_options_with_their_defaults() -> None:
    [program] = re.findall(r"(?s)```python\n(from ddz_env import dou_dizhu_v0\n\nenv = .*?)```", TEXT)
    [call] = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)]
    shown = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    parameters = [
        parameter
        for function in (dou_dizhu_v0.raw_env, dou_dizhu_v0.env)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert list(shown.items()) == [(parameter.name, parameter.default) for parameter in parameters]


def test_the_table_of_gymnasium_s_options_has_all() -> None:
    section = TEXT.partition("\n## Gymnasium\n")[2].partition("\n## ")[0]
    named = {name for row in re.findall(r"(?m)^\| (`.*?) \|", section) for name in re.findall(r"`(\w+)`", row)}
    assert named == {field.name for field in dataclasses.fields(VectorOptions)} - {"num_envs"}
