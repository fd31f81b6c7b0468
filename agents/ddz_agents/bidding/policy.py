"""The agents ``payoff`` and ``payoff-search``, which bid and double by expected payoff.

A landlord has twice the base at stake (each peasant pays it), a peasant once; doubling doubles it.  To decline a bid is
the paper's fold before the first bid, and costs nothing; after another's bid it means to play as a peasant for that
stake.  To rob the landlord is a bid of twice the stake.  Whether to show the hand follows from worlds that are played
out both ways.  An opponent that has bid, robbed or doubled is stronger than a random hand: equation 3 lowers the win
rate by the share of the highest stake that it has named.

The paper puts its policy in the place of random moves in the simulations of UCT, and offers two ways to know the
opponent's win rate there: from hands dealt at random (its algorithm 1), or from the own win rate and what the opponent
has staked (equation 3; its algorithm 2).  Here the tree is that of the bids still to come.  An iteration takes one of
the dealt worlds, goes down by UCB over the bids that are legal, adds a bid, lets the rest of the auction be bid by the
simulation's policy, and brings up what the auction's end is worth:

* ``random``: the rest is bid at random, the end is worth what the cards of that world came to;
* ``dealt`` (algorithm 1): every seat bids by expected payoff on the hand that it was dealt in that world, whose win
  rate follows from its price (:data:`RATE_AT_ZERO`); the end is worth what the cards of that world came to;
* ``stake`` (algorithm 2): the others' win rates are those of equation 3, from what each has bid itself, and so is the
  worth of the end, by equation 4.

After the auction nothing is left to search: showing and doubling are answered by the policy itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from ddz_agents.bidding.auction import BIDS_IN_ALL, Auction, search_auction, write_hand_prices
from ddz_agents.bidding.payoff import expected_payoff, opponent_win_rate
from ddz_agents.bidding.worlds import Outcomes, apply_answer, simulate_outcomes
from ddz_agents.renamed_options import RenamedOptions
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_agents.search_agent import check_turn
from ddz_env import Move, Rules, View
from ddz_env.core.actions import BID_BASE, DOUBLE_BASE
from ddz_env.core.engine.layout import DOUBLES, OWNER
from ddz_env.core.view import AUCTION_STAGES
from ddz_env.playing.agent import Decision, close_agent, is_cheating, notify_agent, reset_agent
from ddz_env.playing.registry import make_agent
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.errors import IllegalMoveError, InvalidRulesError
from ddz_env.support.options import Range, takes_options

RATE_AT_ZERO, RATE_SLOPE = 1.052, 0.003091
"""A landlord's win rate by the rule agent's price of its 17 cards is
``1 / (1 + exp(RATE_SLOPE * price - RATE_AT_ZERO))``, a logistic fit on 2,000 deals
(``fit_rate`` of the commit ``aa483f2``)."""

Simulation = Literal["random", "dealt", "stake"]
Reading = Literal["weighted", "full", "stage"]

_HIGHEST = {"fixed": 1, "once": 3, "until-passed": 3, "robbing": 8}
"""The highest base stake that each kind of auction can name."""


@dataclass(frozen=True)
class PayoffOptions(RenamedOptions):
    """The options of ``payoff``: how win rates are counted, and which agents play the cards.

    Attributes:
        worlds: Dealt worlds from which the win rate is counted.
        rollout_player: The agent that plays these worlds out on all seats: its name, as `rules` or `policy`.
        bankroll: All that could be lost, in base stakes: the loss rate of equation 1 is the stake divided by it. None
            for no loss rate.
        reading: How equation 1 counts the loss rate: `weighted` by the chance of losing, in `full` as the paper words
            it, or in full and of what the current `stage` adds to the stake, the auction or the doubling.
        gain: What the rate of payoff is made of: `wins` (equation 1), or `points`, the mean return in the dealt worlds
            for each point at stake, bombs and spring counted.
        card_player: The agent that plays the cards; it may not cheat.
    """

    worlds: Annotated[int, Range(1, 10**6)] = 500
    rollout_player: str = "rules"
    bankroll: Annotated[float, Range(0, above=True)] | None = None
    reading: Reading = "weighted"
    gain: Literal["wins", "points"] = "wins"
    card_player: str = "rules"

    def named_agents(self) -> tuple[str, ...]:
        """Return the names of the agents that play the cards in simulations and in the game."""
        return self.rollout_player, self.card_player


@dataclass(frozen=True)
class Appraisal:
    """A legal bid, or a choice whether to double, with its expected payoff.

    Attributes:
        move: A bid, or an answer to doubling.
        chip: What the seat then has at stake, in base stakes.
        win_rate: Its win rate, lowered by what opponents have staked.
        payoff: Its expected payoff in base stakes.
    """

    move: Move
    chip: float
    win_rate: float
    payoff: float


def check_stage(view: View) -> None:
    """Raise an error unless seats are bidding, showing or doubling under three-player, full-deck rules.

    Raises:
        InvalidRulesError: If the rules are not for three players and the full deck.
        IllegalMoveError: If the stage is neither auction nor showing nor doubling.
    """
    if view.rules.players != 3 or view.rules.half_deck:
        raise InvalidRulesError(f"stakes are for three players and the full deck, not the {view.rules.name} rules")
    if view.stage not in AUCTION_STAGES:
        raise IllegalMoveError(f"there is nothing to bid or to double: the stage is {view.stage}")


def highest_possible_stake(rules: Rules) -> int:
    """Return the highest stake, as a multiple of the base stake, that bidding, showing and doubling can reach."""
    return _HIGHEST[rules.bidding] * (2 if rules.showing else 1) * (2 if rules.doubling else 1)


def _has_doubled(view: View, seat: int) -> bool:
    return (int(view.row[DOUBLES]) >> (2 * seat)) & 3 == 2


def with_hand_shown(view: View) -> View:
    """Return the view that the landlord will have after showing its hand."""
    row = view.row.copy()
    apply_answer(row, np.uint64(DOUBLE_BASE + 1), view.rule_words)
    return View(row, view.rules, view.rule_words, view.seat, view.history, view.ring)


class Stake(NamedTuple):
    """A legal bid or answer, with the stake that it sets and the seat that would then be landlord.

    Attributes:
        move: The answer.
        landlord: The seat that then plays as landlord.
        chip: What the observer then has at stake, in base stakes.
    """

    move: Move
    landlord: int
    chip: float


def _list_stakes(view: View) -> tuple[list[Stake], int]:
    """Return the stake that each legal bid or answer sets, and what the opponents have staked, in base stakes.

    ==================  =====================  ============================  =====================================
    stage               answer                 chip                          staked by opponents
    ==================  =====================  ============================  =====================================
    auction             fold (no bid)          the highest bid so far        the highest bid so far
    auction             raise (bid)            twice the bid                 the highest bid so far
    auction             raise (rob)            twice the doubled stake       the highest bid so far
    show, double        no, as landlord        twice the stake               none
    show, double        no, as peasant         the stake                     the stake, if the landlord raised it
    ... if the landlord doubled, as a peasant  twice as much                 twice as much
    ... any answer yes                         twice as much                 the same
    ==================  =====================  ============================  =====================================
    """
    if view.landlord is None:
        return _list_bid_stakes(view)
    base, landlord, is_landlord = view.stake, view.landlord, view.landlord == view.seat
    has_doubled = _has_doubled(view, landlord)
    has_raised = view.rules.bidding != "fixed" or view.is_shown or has_doubled
    against_double = 2 if has_doubled and not is_landlord else 1
    chip = base * (2 if is_landlord else against_double)
    answers = [Stake(move, landlord, float(chip * (1 + move.main - DOUBLE_BASE))) for move in view.legal_moves()]
    return answers, base * against_double if has_raised and not is_landlord else 0


def _list_bid_stakes(view: View) -> tuple[list[Stake], int]:
    """Return the stake that each legal bid sets, and what the opponents have staked, in base stakes."""
    base = view.stake if view.highest_bid else 0
    robs = view.rules.bidding == "robbing" and base > 0
    folded_to = int(view.row[OWNER]) if base else view.seat
    stakes = []
    for move in view.legal_moves():
        bid = 2 * base if robs else move.main - BID_BASE
        raises = move.main > BID_BASE
        stakes.append(Stake(move, view.seat, 2.0 * bid) if raises else Stake(move, folded_to, float(base)))
    return stakes, base


def appraise(view: View, hidden: Outcomes, options: PayoffOptions, shown: Outcomes | None = None) -> list[Appraisal]:
    """Compute the expected payoff of each legal bid or answer from win rates in sampled deals.

    Args:
        view: In the auction, at showing or at doubling, the observer's turn.
        hidden: The observer's dealt worlds.
        options: How payoffs are expected.
        shown: The same worlds with the observer's hand open, where it may be shown; `hidden` by default.

    Returns:
        In the order of the legal moves: the cautious answer first.
    """
    stakes, staked = _list_stakes(view)
    share = staked / highest_possible_stake(view.rules)
    worlds = [hidden, hidden if shown is None else shown] if view.stage == "show" else [hidden] * len(stakes)
    max_chip = math.inf if options.bankroll is None else options.bankroll
    full, before = options.reading != "weighted", 0.0
    if options.reading == "stage" and view.landlord is not None:
        before = stakes[0].chip
    appraisals = []
    for (move, landlord_seat, at_stake), dealt in zip(stakes, worlds, strict=True):
        rate = dealt.win_rate(landlord_seat)
        win_rate = 1.0 - opponent_win_rate(rate, share)
        gain = None if options.gain == "wins" else dealt.gain(landlord_seat) - 2.0 * (rate - win_rate)
        payoff = expected_payoff(win_rate, at_stake - before, max_chip, gain, full)
        appraisals.append(Appraisal(move, at_stake, win_rate, payoff))
    return appraisals


def best_appraisal(appraisals: Sequence[Appraisal]) -> Appraisal:
    """Return the appraisal with the highest expected payoff; ties go to the most cautious move."""
    return max(appraisals, key=lambda appraisal: appraisal.payoff)


def hidden_and_shown_views(view: View, rng: np.random.Generator) -> list[tuple[View, np.random.Generator]]:
    """Return a seat's views before and after showing its hand, each with an identically seeded generator."""
    seed = rng.integers(0, 2**63)
    return [(either, np.random.default_rng(seed)) for either in (view, with_hand_shown(view))]


class StakingAgent(WritableAfterUnpickling):
    """Base class of agents that bid, show and double by expected payoff and leave card play to another agent.

    Args:
        options: How payoffs are expected.

    Attributes:
        shared_worlds: Returns a seat's worlds in place of those that the agent would deal, so that several bidders
            count from the same ones; None by default.

    Raises:
        InvalidAgentOptionError: If `card_player` cheats.
        UnknownAgentError: If `rollout_player` or `card_player` is not an agent.
    """

    shared_worlds: Callable[[View], Outcomes] | None = None

    def __init__(self, options: PayoffOptions) -> None:
        self.options = options
        self._player, self._play = make_agent(options.rollout_player), make_agent(options.card_player)
        if is_cheating(self._play):
            raise options.error(f"card_player={options.card_player!r} cheats, but this agent sees no other hands")

    @property
    def name(self) -> str:
        """The agent's class name with its number of sampled deals, for example ``PayoffAgent(500)``."""
        return f"{type(self).__name__}({self.options.worlds})"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a bid or an answer by expected payoff, or let another agent choose a move of cards.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
            InvalidRulesError: If there is something to bid under rules that are not for three players.
        """
        if view.stage not in AUCTION_STAGES:
            return self._play.act(view, rng)
        return best_appraisal(self.appraise(view, rng)).move

    def reset(self, seat: int, rules: Rules) -> None:
        """Notify the card player that a game is beginning."""
        reset_agent(self._play, seat, rules)

    def observe(self, seat: int, move: Move) -> None:
        """Notify the card player of a move."""
        notify_agent(self._play, seat, move)

    def close(self) -> None:
        """Close both agents, the one that plays the dealt worlds out and the card player."""
        for agent in (self._player, self._play):
            close_agent(agent)

    def appraise(self, view: View, rng: np.random.Generator) -> list[Appraisal]:
        """Compute the expected payoff of each legal bid or answer (see :func:`appraise`)."""
        check_stage(view)
        check_turn(view.row, view.seat)
        if view.stage != "show":
            return appraise(view, self.simulate_worlds(view, rng), self.options)
        hidden, shown = (self.simulate_worlds(sight, twin) for sight, twin in hidden_and_shown_views(view, rng))
        return appraise(view, hidden, self.options, shown)

    def simulate_worlds(self, view: View, rng: np.random.Generator) -> Outcomes:
        """Sample deals that fit the view and play them out, so that win rates can be counted."""
        if self.shared_worlds is not None:
            return self.shared_worlds(view)
        return simulate_outcomes(view, rng, self.options.worlds, self._player)


class PayoffAgent(StakingAgent):
    """Bids, shows and doubles by expected payoff in dealt worlds; another agent plays the cards.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
        UnknownAgentError: If `rollout_player` or `card_player` is not an agent.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1, rules="bidding")
        >>> PayoffAgent(worlds=20).act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    @takes_options(PayoffOptions)
    def __init__(self, options: PayoffOptions) -> None:
        super().__init__(options)


@dataclass(frozen=True)
class PayoffSearchOptions(PayoffOptions):
    """The options of ``payoff-search``: how the auction is searched.

    Attributes:
        simulation: How the rest of an auction is bid in a simulation: at `random`, or by expected payoff, with the
            others' win rates from the hands `dealt` to them (the paper's algorithm 1) or from their `stake` (its
            algorithm 2).
        iterations: Iterations of the search.
        exploration: The constant of UCB, on payoffs divided by the most that a landlord can win before doubling (six
            base stakes; sixteen when robbing).
    """

    simulation: Simulation = "stake"
    iterations: Annotated[int, Range(1, 10**7)] = 10_000
    exploration: Annotated[float, Range(0)] = 0.7


class PayoffSearchAgent(StakingAgent):
    """Bids by a tree search over the auction, shows and doubles by expected payoff; another agent plays the cards.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.
        UnknownAgentError: If `rollout_player` or `card_player` is not an agent.
    """

    options: PayoffSearchOptions

    @takes_options(PayoffSearchOptions)
    def __init__(self, options: PayoffSearchOptions) -> None:
        super().__init__(options)
        self._workspace = new_rule_workspace()

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a bid by tree search, and any other move as :class:`StakingAgent` does."""
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        """Choose a move, and return it with the visit count and mean payoff of each bid if the seat is bidding.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        if view.stage != "bid":
            move = super().act(view, rng)
            return Decision(move, line=move.actions)
        check_stage(view)
        check_turn(view.row, view.seat)
        dealt = self.simulate_worlds(view, rng)
        visits, values = self._search(view, dealt, np.uint64(rng.integers(0, 2**64, dtype=np.uint64)))
        counts = {BID_BASE + bid: int(visits[bid]) for bid in range(BIDS_IN_ALL) if visits[bid]}
        chosen = max(counts, key=lambda action: counts[action])
        means = {action: float(values[action - BID_BASE]) for action in counts}
        return Decision(Move(chosen), counts, means, (chosen,), "score")

    def _search(self, view: View, dealt: Outcomes, state: np.uint64) -> tuple[Any, Any]:
        prices = np.empty((len(dealt.rows), 3))
        write_hand_prices(dealt.rows, view.rule_words, self._workspace, prices)
        rates = 1.0 / (1.0 + np.exp(RATE_SLOPE * prices - RATE_AT_ZERO))
        own_rates = np.array([dealt.win_rate(landlord) for landlord in range(3)])
        scale = 2.0 * _HIGHEST[view.rules.bidding]
        auction = Auction(dealt.returns, rates, own_rates, view.seat, float(highest_possible_stake(view.rules)), scale)
        options, number = self.options, get_args(Simulation).index(self.options.simulation)
        return search_auction(
            view.row, view.rule_words, auction, number, options.iterations, options.exploration, state
        )
