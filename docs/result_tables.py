"""Tables of results: what pages show of the files in ``docs/results``."""

from __future__ import annotations

import csv
import dataclasses
import functools
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist, fmean, median
from typing import Any

import numpy as np

from ddz_agents.neural.shipped import policy_name
from ddz_env import State
from ddz_papers.determinization_2011 import full_games as full
from ddz_papers.determinization_2011 import mini_uct
from ddz_papers.experiments.experiment import SavedResults, group_by, read_results_file
from ddz_papers.experiments.matches import TimedDealResult, win_interval
from ddz_papers.experiments.registry import load_experiment
from ddz_papers.payoff_policy import bidders as bidding
from ddz_papers.strengths import agent_strengths
from ddz_training.learn import training_curves
from ddz_training.measure.markdown import Table, format_markdown_table
from ddz_training.measure.store import read_results

RESULTS = Path(__file__).with_name("results")

Row = Mapping[str, str]
"""The cells of a line by the heads of their columns."""


def part(table: Table, *columns: str, rows: Callable[[Row], bool] = lambda row: True) -> str:
    """Some columns of a table, and the lines that are wanted, as Markdown.

    Args:
        table: The table.
        columns: Heads of columns; all if none is named.
        rows: Whether a line is wanted.
    """
    indices = [table.header.index(column) for column in columns] or range(len(table.header))
    wanted = [line for line in table.lines if rows(dict(zip(table.header, line, strict=True)))]
    head, *cells = ([line[index] for index in indices] for line in (table.header, *wanted))
    return Table(table.title, head, cells, table.note).markdown()


@functools.lru_cache(maxsize=8)  # several tables are of one file, and the largest take a second to read
def committed(kind: type[Any], name: str) -> SavedResults[Any]:
    """The results of a file of ``docs/results``.

    Args:
        kind: The dataclass of a result.
        name: The file.
    """
    return read_results_file(kind, RESULTS / name)


def experiment(name: str, table: str) -> Table:
    """A table of an experiment, from its committed file; a note says which policy's weights played."""
    chosen = load_experiment(name)
    saved = committed(chosen.result, chosen.file_name)
    made = chosen.tables[table](saved)
    notes = [made.note, *weights_notes(saved.settings.get("files", {}), made.note)]
    return dataclasses.replace(made, note=" ".join(filter(None, notes)))


def weights_notes(files: Mapping[str, Mapping[str, str]], said: str = "") -> list[str]:
    """Which agents played by which policy: a sentence for each policy that a table's note does not name yet.

    Args:
        files: The digests of the weights of each agent, by the names of their files, as a file of results has them.
        said: The note.

    Example:
        >>> weights_notes({"policy": {"policy.safetensors": "cea81e728b42ffcb"}, "rules": {}})
        ['`policy` plays with `policy-v1`.']
    """
    agents: dict[str, dict[str, None]] = {}
    for agent, digests in files.items():
        for digest in (digest for file, digest in digests.items() if file.startswith("policy")):
            agents.setdefault(policy_name(digest).partition(" ")[0], {})[f"`{agent.partition(':')[0]}`"] = None
    return [
        f"{' and '.join(filter(None, (', '.join(others), last)))} {'play' if others else 'plays'} with `{policy}`."
        for policy, (*others, last) in agents.items()
        if policy not in said
    ]


def whole(name: str, table: str = "", *columns: str) -> Callable[[], str]:
    """What makes a table of an experiment, which has the experiment's name by default, or some of its columns."""
    return lambda: part(experiment(name, table or name), *columns)


# --- The paper of 2011 ------------------------------------------------------------------------------------------------


FINISHING = {
    "mini_uct.csv": "taken at once, in simulations and by the agent (`--finish true`)",
    "mini_uct_plain.csv": "not taken at once, as in the paper",
}
"""The files of Mini's UCT, and what they differ in."""


def mini_uct_rates() -> str:
    """Player 1's win rate on Mini as our searches are and as the paper's are."""
    lines = []
    for name, what in FINISHING.items():
        saved: SavedResults[mini_uct.UctResult] = committed(mini_uct.UctResult, name)
        games = saved.settings["games"] * len(saved.results)
        lines.append((what, f"{games:,}", *(rate.text_with_range() for rate in mini_uct.uct_rates(saved).values())))
    header = ("finishing moves", "games each", "information-set %", "determinized %")
    return format_markdown_table(header, [*lines, ("paper", "", *mini_uct.PAPER_RATES.values())])


def full_cheating() -> str:
    """Table 1: the differences; a figure beside it shows the rates."""
    return part(experiment("cheating", "full-cheating"), rows=lambda row: "difference" in row["what"])


JOKERS = (13, 14)
"""Their ranks."""


def full_one_joker() -> str:
    """The rates of the paper beside ours, on all our deals and on those whose landlord holds exactly one joker."""
    with_one_joker = {deal for deal in range(full.DEAL_COUNT) if _jokers(full.DealListOptions().new_game(deal)) == 1}
    deep = [(row, "full_landlord_deep.csv") for row in full.LANDLORD_RATES]
    at_base = (full.RateRow("information-set, exploration 0.44", "40.8", "10000"), "full_iterations.csv")
    cheats = [row for name in full.CHEATING_RATES for row in full.cheating_rows(name)[:2]]
    lines = {}
    for row, file in (*deep, at_base, *((row, "full_cheating.csv") for row in cheats)):
        results = committed(full.GameResult, file).results
        rates = [
            row.rate(own).text_with_range()
            for own in (results, [game for game in results if game.deal in with_one_joker])
        ]
        what = "nobody cheats" if row.lineup == full.BASELINE else row.what
        lines[f"{what}, {'peasants' if row.peasants else 'landlord'}"] = (row.paper, *rates)
    header = ("who, and whose wins in %", "paper", "ours, all deals", "exactly one joker with the landlord")
    return format_markdown_table(header, [(what, *cells) for what, cells in lines.items()])


def _jokers(state: State) -> int:
    return sum(state.hand(full.LANDLORD).counts[rank] for rank in JOKERS)


def full_slope() -> str:
    """How information-set UCT's gain depends on the true advantage of cheating, free of errors of measurement."""
    results = committed(full.GameResult, "full_landlord_deep.csv").results
    wins = {name: [] for name in full.LANDLORDS}
    for games in group_by(sorted(results, key=lambda game: game.game), "deal").values():
        for name, own in group_by(games, "lineup").items():
            wins[name].append([game.landlord_won for game in own])
    cheating, determinized, information_set = (np.array(wins[name], float) for name in full.LANDLORDS)
    halves = [
        (cheating[:, part].mean(1), determinized[:, part].mean(1)) for part in (slice(0, None, 2), slice(1, None, 2))
    ]
    advantages = [cheats - plain for cheats, plain in halves]
    gains = [information_set.mean(1) - plain for _, plain in halves]

    def fit(deals: Any) -> tuple[float, float, float]:
        """Slope and intercept, and the variance of the true advantage."""
        first, second = (advantage[deals] for advantage in advantages)
        variance = np.cov(first, second)[0, 1]
        slope = (np.cov(first, gains[1][deals])[0, 1] + np.cov(second, gains[0][deals])[0, 1]) / (2 * variance)
        return slope, np.mean(gains) - slope * np.mean(advantages), variance

    count, rng = len(cheating), np.random.default_rng(0)
    slope, base, variance = fit(np.arange(count))
    low, high = np.percentile([fit(rng.integers(0, count, count))[0] for _ in range(2000)], [2.5, 97.5])
    deviation, mean = math.sqrt(variance), float(np.mean(advantages))
    beyond = NormalDist(mean, deviation)
    selected = mean + deviation**2 * beyond.pdf(0.25) / (1 - beyond.cdf(0.25))
    lines = [
        (
            "information-set over determinized, for each point that cheating gains",
            f"{slope:+.2f}",
            f"{low:+.2f} to {high:+.2f}",
        ),
        ("expected where cheating gains 25 points or more", f"{100 * (base + slope * selected):+.1f}", "paper +6.8"),
    ]
    return format_markdown_table(("points", "ours", "95 % interval, or paper"), lines)


def bidders() -> str:
    """Bidders without a loss rate, as the agents play by default."""
    table = bidding.bidder_table(committed(bidding.BidderResult, "bidders.csv"))
    return part(table, "bidder", "against", "deals", "score per game")


def solver_techniques() -> str:
    """What each technique of the solver is worth, by two and by three hands."""
    columns = ("cards", "solver", "solved", "median ms", "99 % ms", "median nodes", "hits %")
    table = experiment("solver-techniques", "solver-techniques")
    return part(table, *columns, rows=lambda row: not row["solver"].startswith("rehash"))


def rehash() -> str:
    """The solver by the number of entries in a bucket of a small table."""
    columns = ("cards", "solver", "solved", "median ms", "mean nodes", "hits %", "collisions %")
    table = experiment("solver-techniques", "solver-techniques")
    return part(table, *columns, rows=lambda row: row["solver"].startswith("rehash"))


# --- The thesis -------------------------------------------------------------------------------------------------------


def equivalent_simulated() -> str:
    """Simulated searches on the steepest and the flattest curve."""
    columns = ("curve", "method", "covered %", "found", "mean ratio", "typical error", "games")
    table = experiment("equivalent-simulated", "equivalent-simulated")
    return part(table, *columns, rows=lambda row: row["curve"] in ("steep", "flat"))


def equivalent_known() -> str:
    """Known iterations recovered."""
    columns = ("iterations", "method", "deals", "found", "ratio", "standard error", "covered", "games", "thesis")
    table = experiment("equivalent-known", "equivalent-known")
    return part(table, *columns, rows=lambda row: row["deals"] != "400 in all")


_INPUTS_OF_LITTLE_WORTH = {
    f"`{name}`" for name in ("state", "unseen", "target", "key", "signs", "history", "table", "hand", "sizes", "rest")
}


def equivalent_knowledge() -> str:
    """What pieces of knowledge are worth, without the inputs that are worth next to nothing."""
    columns = ("agent", "without", "factor", "wins % v the whole", "thesis")
    table = experiment("equivalent-knowledge", "equivalent-knowledge")
    return part(table, *columns, rows=lambda row: row["without"] not in _INPUTS_OF_LITTLE_WORTH)


# --- Searches and policies --------------------------------------------------------------------------------------------


def search_depth() -> str:
    """Depth-limited searches by depth."""
    table = experiment("search-depth", "search-depth")
    return part(table, "agent", "deals", "both %", "95 % interval", rows=lambda row: "depth 2" not in row["search"])


def strengths_of_agents() -> str:
    """All agents against the rule agent, alike."""
    table = experiment("agent-strength", "strengths-of-agents")
    header = [f"win % against `{agent_strengths.OPPONENT}`" if head == "win %" else head for head in table.header]
    return dataclasses.replace(table, header=header).markdown()


def policy_strength() -> str:
    """The shipped policy and the search with it."""
    table = experiment("policy-strength", "policy-strength")
    columns = ("agent", "against", "deals", "win %", "over the policy")
    return part(table, *columns, rows=lambda row: (row["agent"], row["against"]) != ("`policy`", "`random-staged`"))


def _of_policy() -> list[TimedDealResult]:
    """The results of the shipped policy, alone and in the default search."""
    results = committed(TimedDealResult, "policy_strength.csv").results
    return [result for result in results if result.agent in (agent_strengths.POLICY, agent_strengths.NEURAL)]


def policy_rates() -> str:
    """Win rates of the shipped policy, alone and in the default search, for a page that has no room for more.

    A row whose interval does not say who is stronger is left to the page of results.
    """
    rates = {pair: win_interval(own) for pair, own in group_by(_of_policy(), "agent", "opponent").items()}
    decided = {f"`{a}` v `{b}`" for (a, b), rate in rates.items() if not rate.low <= 0.5 <= rate.high}
    decided -= {"`policy` v `random-staged`"}  # who is for measurements of speed
    lines = ((f"{line[0]} v {line[1]}", *line[2:4]) for line in agent_strengths.strength_cells(_of_policy()))
    return format_markdown_table(("agents", "N", "win %"), (line for line in lines if line[0] in decided))


def policy_model_index() -> str:
    """Win rates of the shipped policy alone as the head of a model card has them: Hugging Face's ``model-index``."""
    lines = ["model-index:", "- name: ddz-env policy", "  results:"]
    for (agent, opponent), own in group_by(_of_policy(), "agent", "opponent").items():
        if agent == agent_strengths.POLICY:
            rate = win_interval(own)
            lines += [
                "  - task: {type: reinforcement-learning, name: Dou Dizhu}",
                f"    dataset: {{type: duplicate-deals, name: '{rate.count:,} duplicate deals against {opponent}'}}",
                f"    metrics: [{{type: win_rate, name: win rate of both sides, value: {rate.mean:.3f}}}]",
            ]
    return "\n".join(lines)


def belief_calibration() -> str:
    """How the chances that particles and the network give compare with what came true, by tenths of the chance.

    A cell of the file has, for each tenth, how many chances there were, their sum, and how many came true.
    """
    _, rows = read_results(RESULTS / "belief.csv")
    lines = []
    for worlds in ("particles", "network"):
        counts, chances, came_true = np.sum(
            [[float(number) for number in row[f"{worlds}_bins"].split()] for row in rows], axis=0
        ).reshape(3, -1)
        said, true = chances / counts, came_true / counts
        widest = int(np.argmax(np.abs(true - said)))
        ends = (f"{said[tenth]:.3f} → {true[tenth]:.3f}" for tenth in (-1, widest))
        lines.append((worlds, f"{int(counts.sum()):,}", *ends))
    return format_markdown_table(("worlds from", "chances", "90 to 100 %", "largest gap"), lines)


# --- Training ---------------------------------------------------------------------------------------------------------


def training_stages() -> str:
    """The stages of the training and what they took."""
    return training_curves.make_stage_table(training_curves.load_training(RESULTS)).markdown()


def campaign() -> str:
    """The runs of the campaign: what they took, and how strong they were at their ends."""
    stages = training_curves.load_training(RESULTS / "campaign")
    opponents = dict.fromkeys(line["opponent"] for stage in stages for line in stage.evaluations)
    lines = []
    for stage in stages:
        rates = (training_curves.format_win_rate(stage.last_evaluation(opponent)) for opponent in opponents)
        lines.append((stage.name, f"{stage.final_count('decisions') / 1e6:.0f}", *rates))
    return format_markdown_table(("run", "million decisions", *(f"v `{opponent}` %" for opponent in opponents)), lines)


_EVALUATIONS, _CURVES = "seeds/training_evaluations.csv", "seeds/training_curves.csv"


def seeds() -> str:
    """How strong policies from random weights are after so many minutes: the mean, the least and the most of seeds."""
    rates = {(seed, update, rival): 100 * float(wins) for seed, update, rival, _, wins, *_ in _csv(_EVALUATIONS)[1]}
    spent = {(seed, update): (float(rest[-1]), int(rest[1])) for seed, update, *rest in _csv(_CURVES)[1]}
    names, lines = dict.fromkeys(seed for seed, _ in spent), []
    for update in map(str, range(150, 1201, 150)):
        seconds, decisions = (fmean(values) for values in zip(*(spent[seed, update] for seed in names), strict=True))
        cells = [f"{seconds / 60:.0f}", f"{decisions / 1e6:.1f}"]
        for rival in ("random", "rules"):
            of_seeds = [rates[seed, update, rival] for seed in names]
            cells.append(f"{fmean(of_seeds):.1f} ({min(of_seeds):.1f}–{max(of_seeds):.1f})")
        lines.append(cells)
    return format_markdown_table(("minutes", "million decisions", "v `random` %", "v `rules` %"), lines)


def climb() -> str:
    """The judgements of candidates, the latest last."""
    header, lines = _csv("climb.csv")
    for line in lines:
        line[:2] = (f"`{policy_name(digest)}`" for digest in line[:2])
        line[2] = f"{float(line[2]) / 1e6:.0f}" if line[2] else ""
    heads = (
        f"gain v `{name.removeprefix('gain v ')}`, points" if name.startswith("gain v ") else f"v `{name}` %"
        for name in header[4:-1]
    )
    return format_markdown_table(("weights", "against", "million decisions", header[3], *heads, header[-1]), lines)


def forms() -> str:
    """What other forms of the network and other updates won."""
    header, lines = _csv("forms.csv")
    return format_markdown_table(header, ([name, f"{int(count) / 1e6:.0f}", *rest] for name, count, *rest in lines))


def rows_of(name: str) -> Callable[[], str]:
    """What makes the table of a file of results that is shown as it is."""
    return lambda: format_markdown_table(*_csv(name))


def _csv(name: str) -> tuple[Sequence[str], list[list[str]]]:
    with (RESULTS / name).open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    return header, lines


# --- Speed ------------------------------------------------------------------------------------------------------------


def _measured() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The machine and the contenders of the file that ``make bench ARGS='--json FILE'`` writes, with their medians."""
    document = json.loads((RESULTS / "speeds.json").read_text(encoding="utf-8"))
    rows = [{**row, "median": median(row["values"])} for row in document["measurements"]]
    return document["machine"], rows


def _speed(row: dict[str, Any]) -> str:
    """A median with three digits."""
    value = row["median"]
    digits = 2 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f} {row['unit']}"


def _ratio(row: dict[str, Any]) -> str:
    return f"{row['ratio']:,.1f} ×" if row["beside"] else ""


def speeds() -> str:
    """One line per contender, its measurement named in the first, and the machine and the versions below them."""
    machine, rows = _measured()
    titles = ["", *(row["title"] for row in rows)]
    lines = [
        ("" if title == before else title, row["name"] + " (peer)" * bool(row["beside"]), _speed(row), _ratio(row))
        for (before, title), row in zip(itertools.pairwise(titles), rows, strict=True)
    ]
    system = machine["system"].partition("-")[0]
    where = f"{machine['cores']} cores, {machine['cpu']}, {system}, Python {machine['python']}"
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    table = format_markdown_table(("what", "contender", "median", "ours ÷ peer"), lines)
    return "\n\n".join([table, where, versions, f"Load at the start: {machine['load']}."])


_ALIKE = ("environment step", "UCT", "self-play batch")
"""How titles begin of what is compared with its like, or stands for itself: a compiled loop beside games that Python
drives says nothing."""


def speed_ratios() -> str:
    """Ours, the peer where there is one, which two these are, and the ratio; of the batch only the fastest form."""
    _, rows = _measured()
    ours = {row["name"]: row for row in rows}
    shown = [row for row in rows if row["title"].startswith(_ALIKE)]
    lines = [
        (row["title"], _speed(ours[row["beside"]]), _speed(row), _which_two(row), _ratio(row))
        for row in shown
        if row["beside"]
    ]
    fastest = [row for row in shown if "batch" in row["title"]][-1:]
    lines += [(f"{row['title']}: {row['name']}", _speed(row), "", "", "") for row in fastest]
    return format_markdown_table(("what", "ddz-env", "peer", "which", "ratio"), lines)


def _which_two(row: Mapping[str, Any]) -> str:
    """Name ours and the peer, in the order of their columns."""
    return f"{row['beside'].removeprefix('ddz-env ')} v {row['name']}"


TABLES: dict[str, Callable[[], str]] = {
    "mini-census": whole("mini-census"),
    "mini-agents": whole("mini-agents"),
    "mini-pairs": whole("mini-agents", "mini-pairs"),
    "mini-inference": whole("mini-inference"),
    "mini-uct": mini_uct_rates,
    "mini-uct-rates": whole("mini-uct", "mini-uct-rates"),
    "full-cheating": full_cheating,
    "full-one-joker": full_one_joker,
    "full-slope": full_slope,
    "full-landlord": whole("landlord", "full-landlord"),
    "full-thresholds": whole("thresholds", "full-thresholds"),
    "full-iterations": whole("iterations", "full-iterations"),
    "full-exploration": whole("exploration", "full-exploration"),
    "full-trees": whole("trees", "full-trees"),
    "full-branching": whole("branching", "full-branching"),
    "full-states": whole("information-sets", "full-states"),
    "tree-size": whole("tree-size"),
    "complexity": whole("complexity"),
    "complexity-spread": whole("complexity", "complexity-spread"),
    "tendency": whole("tendency"),
    "games-saved": whole("tendency-savings", "games-saved"),
    "equivalent-simulated": equivalent_simulated,
    "equivalent-known": equivalent_known,
    "equivalent-bounds": whole("equivalent-known", "equivalent-bounds"),
    "equivalents": whole("equivalents", "", "rules", "agent", "wins % v `rules`", "`isuct`", "`rollout:particles=0`"),
    "equivalent-knowledge": equivalent_knowledge,
    "holdem": whole("holdem"),
    "holdem-paper": whole("holdem", "holdem-paper"),
    "streets": whole("streets"),
    "win-rate": whole("win-rate"),
    "win-rate-paper": whole("win-rate", "win-rate-paper"),
    "bidders": bidders,
    "bidders-loss-rate": whole("bidders", "", "bidder", "against", "deals", "score per game"),
    "solver-curve": whole("solver-curve", "", "cards", "positions", "100 ms", "1 s", "at all"),
    "solver-techniques": solver_techniques,
    "rehash": rehash,
    "search-depth": search_depth,
    "search-nodes": rows_of("search_nodes.csv"),
    "tuning": whole("tuning", "", "subject", "method", "gain, search", "gain, fresh deals"),
    "search-parts": whole("search-parts"),
    "levels": whole("levels"),
    "strengths-of-agents": strengths_of_agents,
    "belief-calibration": belief_calibration,
    "policy-strength": policy_strength,
    "policy-rates": policy_rates,
    "policy-model-index": policy_model_index,
    "points-strength": whole("points-strength", "", "against", "deals", "score per game"),
    "chances": whole("chances", "", "chance given, %", "positions", "games won, %"),
    "table-chances": whole("table-chances"),
    "training-stages": training_stages,
    "campaign": campaign,
    "climb": climb,
    "forms": forms,
    "seeds": seeds,
    "lambda": rows_of("lambda.csv"),
    "filter": rows_of("filter.csv"),
    "averages": rows_of("averages.csv"),
    "gpu-runs": rows_of("gpu_runs.csv"),
    "gpu-curve": rows_of("gpu_curve.csv"),
    "speeds": speeds,
    "speed-ratios": speed_ratios,
}
