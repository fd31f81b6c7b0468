"""What the tests of all READMEs ask: do the examples run, and do the links lead somewhere?"""

from __future__ import annotations

import doctest
import re
from pathlib import Path


def examples_run(readme: Path) -> int:
    """Run the examples of a page, all of which must do what they show; returns how many lines were tried."""
    ran = doctest.testfile(str(readme), module_relative=False)
    assert ran.failed == 0
    return ran.attempted


def dead_links(readme: Path) -> list[str]:
    """The links of a page, of which there is at least one outside its programs, that lead to no file."""
    prose = re.sub(r"(?ms)^```.*?^```$", "", readme.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#]+)", prose)
    assert links
    return [link for link in links if not (readme.parent / link).exists()]
