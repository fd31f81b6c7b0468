"""``python -m tests.integrations``: train with every library, keep what it wins, and fail if one does not work.

Each library has a virtual environment of its own under ``.integrations``, made again when its constraints change.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

from tests.integrations.evaluation import SEEDS
from tests.integrations.programs import CONSTRAINTS, PROGRAMS, RESULTS, results
from tests.packages import ROOT

ENVIRONMENTS = ROOT / ".integrations"
SECONDS = 3600
"""After which a program is ended."""
_WINS = re.compile(r"^seed (\d+): ([\d.]+)% of 4,000 games won against random play$", re.MULTILINE)


def python_of(library: Path) -> str:
    """The interpreter of a library's virtual environment, which is made if there is none with its constraints."""
    folder, wanted = ENVIRONMENTS / library.name, (library / CONSTRAINTS).read_text(encoding="utf-8")
    python, finished = str(folder / "bin" / "python"), folder / CONSTRAINTS
    if not finished.is_file() or finished.read_text(encoding="utf-8") != wanted:
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", str(ROOT)]
        subprocess.run([*install, "--requirement", str(library / CONSTRAINTS)], check=True)
        finished.write_text(wanted, encoding="utf-8")
    return python


def wins(program: Path, seed: int, steps: int | None) -> float:
    """The share of games that a program wins with a seed, after its own number of decisions or another."""
    environ = os.environ | {"OMP_NUM_THREADS": "1"} | ({} if steps is None else {"STEPS": str(steps)})
    module = ".".join(program.relative_to(ROOT).with_suffix("").parts)
    command = [python_of(program.parent), "-m", module, str(seed)]
    printed = subprocess.check_output(command, cwd=ROOT, env=environ, timeout=SECONDS, text=True)
    return round(float(_WINS.findall(printed)[-1][1]) / 100, 4)


def main() -> None:
    """Run the chosen programs."""
    parser = argparse.ArgumentParser(prog="python -m tests.integrations", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(PROGRAMS)}; all by default")
    parser.add_argument("--smoke", type=int, metavar="STEPS", help="learn from so many decisions, and keep nothing")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(PROGRAMS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    failed = []
    for name in chosen.names or PROGRAMS:
        try:
            shares = {str(seed): wins(PROGRAMS[name], seed, chosen.smoke) for seed in SEEDS[: 1 if chosen.smoke else 3]}
        except (subprocess.SubprocessError, IndexError) as error:
            failed.append(name)
            print(f"{name}: FAILED: {error}", file=sys.stderr, flush=True)
            continue
        print(f"{name}: wins {shares}", flush=True)
        if not chosen.smoke:
            rows = results()
            rows.setdefault(name, {})["seeds"] = {seed: {"wins": share} for seed, share in shares.items()}
            RESULTS.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", encoding="utf-8")
    sys.exit(f"{', '.join(failed)}: failed" if failed else 0)


if __name__ == "__main__":
    main()
