"""What a hand is worth before the cards are played: equations, dealt worlds, bidders, the search of the auction."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ddz_agents.bidding.auction import Auction, policy_bid, stake_of_own_bids, write_end_values
from ddz_agents.bidding.hand import hand_view
from ddz_agents.bidding.payoff import expected_payoff, final_payoff, opponent_win_rate
from ddz_agents.bidding.policy import (
    PayoffAgent,
    PayoffOptions,
    PayoffSearchAgent,
    appraise,
    best_appraisal,
    hidden_and_shown_views,
    highest_possible_stake,
)
from ddz_agents.bidding.worlds import Outcomes, simulate_outcomes
from ddz_env import Hand, Move, Rules, State, View
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, LANDLORD, ROW_WORDS
from ddz_env.playing.bidder import AgentWithBidder
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.many import WaitingGames
from ddz_env.playing.registry import make_agent, parse_agent, split_bidder
from ddz_env.support.errors import (
    DouDizhuError,
    IllegalMoveError,
    InvalidAgentOptionError,
    InvalidDealError,
    InvalidRulesError,
)
from ddz_play.hand_odds import make_report
from ddz_training.cli.app import app
from ddz_training.measure.provenance import digest_agent_files
from ddz_training.measure.statistics import summarize_convergence

STRONG, WEAK = "33456789TJQKA22BR", "34456678899TTJJQK"
RULES = "bidding,doubling=true"
RNG = np.random.default_rng


def worlds(seat: int, rate: float, others: dict[int, float] | None = None) -> Outcomes:
    """A thousand worlds in which the landlord wins so often, by landlord; no bombs and no spring."""
    rates = [(others or {}).get(landlord, rate) for landlord in range(3)]
    won = np.stack([(np.arange(1000) < 1000 * rate).astype(float) for rate in rates], axis=1)
    sign = 2.0 * won - 1.0
    returns = np.stack([np.where(np.arange(3) == k, 2.0, -1.0) * sign[:, k, None] for k in range(3)], axis=1)
    return Outcomes(seat, won, returns, np.zeros((1000, 3, ROW_WORDS), np.uint64))


def test_the_equations() -> None:
    """An all-in is believed unless the win rate is above two thirds; the loss rate keeps the stake finite."""
    for win_rate in np.linspace(0.0, 1.0, 101):
        assert (opponent_win_rate(win_rate, 1.0) > win_rate) == (win_rate < 2 / 3)
        assert (expected_payoff(win_rate, 100, 100) > 0) == (win_rate > 2 / 3)  # no limit, as the paper says
        assert expected_payoff(win_rate, 100, 100, full=True) <= 0
    for win_rate, full, stake in ((0.6, False, 25), (2 / 3, False, 50), (0.75, False, 100), (0.75, True, 25)):
        payoffs = [expected_payoff(win_rate, chip, 100, full=full) for chip in range(101)]
        assert int(np.argmax(payoffs)) == stake  # max_chip (2 W - 1) / 2, divided by 1 - W unless in full
    assert expected_payoff(0.75, 50) == 25.0  # without a loss rate more is always better
    assert final_payoff(0.6, 0.4, 10) == pytest.approx(2.0)


def test_worlds_agree_with_the_view_and_have_every_landlord() -> None:
    view = State.new(3, RULES).view()
    found = simulate_outcomes(view, RNG(1), 30, make_agent("rules"))
    assert found.landlord_won.shape == (30, 3)
    for world in found.rows:
        for landlord, row in enumerate(world):
            assert int(row[LANDLORD]) == landlord
            hands = [np.array(Hand.from_word(int(row[HANDS + seat])).counts) for seat in range(3)]
            assert [hand.sum() for hand in hands] == [20 if seat == landlord else 17 for seat in range(3)]
            assert (hands[view.seat] >= view.hand.counts).all()
            assert (sum(hands) + Hand.from_word(int(row[HIDDEN])).counts == Rules().deck).all()
    for landlord in range(3):  # the landlord wins or loses twice what each peasant does
        returns = found.returns[:, landlord]
        assert np.allclose(returns.sum(axis=1), 0.0)
        assert ((returns[:, landlord] > 0) == (found.landlord_won[:, landlord] == 1.0)).all()


def test_the_same_generator_deals_the_same_worlds_and_batches_play_as_single_games() -> None:
    class OneByOne:
        name, inner = "one by one", make_agent("rules")

        def act(self, view: View, rng: np.random.Generator) -> Any:
            return self.inner.act(view, rng)

    players, view = (make_agent("rules"), OneByOne()), State.new(5, RULES).view()
    first, second = (simulate_outcomes(view, RNG(2), 5, player) for player in players)
    assert (first.returns == second.returns).all()


def test_bids_are_worth_what_the_equations_say() -> None:
    view = hand_view(STRONG, RULES)
    dealt = worlds(view.seat, 0.4, {view.seat: 0.75})
    answers = appraise(view, dealt, PayoffOptions())
    assert [(str(one.move), one.chip, one.payoff) for one in answers] == [
        ("no bid", 0.0, 0.0),
        ("bid 1", 2.0, pytest.approx(1.0)),
        ("bid 2", 4.0, pytest.approx(2.0)),
        ("bid 3", 6.0, pytest.approx(3.0)),
    ]
    cautious = appraise(view, dealt, PayoffOptions(bankroll=4))
    assert str(best_appraisal(cautious).move) == "bid 2"  # 4 (0.5 - 0.25) = 1; 0.75 by one less or more
    full = appraise(view, dealt, PayoffOptions(bankroll=12, reading="full"))
    assert [one.payoff for one in full] == pytest.approx([0, 2 * (0.5 - 1 / 6), 4 * (0.5 - 1 / 3), 0])
    stage = appraise(view, dealt, PayoffOptions(bankroll=12, reading="stage"))
    assert [one.payoff for one in stage] == pytest.approx([one.payoff for one in full]), (
        "the auction is the first stage"
    )
    points = appraise(view, dealt, PayoffOptions(gain="points"))
    assert [one.payoff for one in points] == pytest.approx([one.payoff for one in answers])


def test_after_a_bid_declining_is_to_play_as_a_peasant_against_a_stronger_hand() -> None:
    view = hand_view(WEAK, "bidding", bid=2)
    owner = (view.seat - 1) % 3
    # A win rate of 0.6 as a peasant; 0.4 (1 + 2 / 3) of the other is 2 / 3.
    decline, bid = appraise(view, worlds(view.seat, 0.5, {owner: 0.4}), PayoffOptions())
    assert (decline.chip, decline.win_rate) == (2.0, pytest.approx(1 / 3))
    assert decline.payoff == pytest.approx(-2 / 3)
    assert (bid.chip, bid.win_rate, bid.payoff) == (6.0, pytest.approx(1 / 6), pytest.approx(-4.0))


def test_doubling_doubles_what_is_at_stake() -> None:
    landlord = hand_view(STRONG, RULES, bottom="345", bid=3)
    assert landlord.role == "landlord"
    found = worlds(landlord.seat, 0.6)
    assert [(one.chip, one.payoff) for one in appraise(landlord, found, PayoffOptions())] == [
        (6.0, pytest.approx(1.2)),
        (12.0, pytest.approx(2.4)),
    ]
    full, stage = (
        appraise(landlord, found, PayoffOptions(bankroll=24, reading=reading)) for reading in ("full", "stage")
    )
    assert [one.payoff for one in full] == pytest.approx([6 * (0.2 - 0.25), 12 * (0.2 - 0.5)])
    assert [one.payoff for one in stage] == pytest.approx([0, 6 * (0.2 - 0.25)]), "doubling adds 6"
    peasant = hand_view(STRONG, RULES, bottom="345", role="peasant-up", bid=3)
    assert (peasant.role, peasant.stage, peasant.highest_bid) == ("peasant_up", "double", 3)
    answers = appraise(peasant, worlds(peasant.seat, 0.2), PayoffOptions())
    assert [one.chip for one in answers] == [3.0, 6.0]
    assert answers[0].win_rate == pytest.approx(0.7)  # half of the highest stake has been named: 0.2 * 1.5


def test_to_rob_is_to_play_as_the_landlord_for_twice_the_stake() -> None:
    view = hand_view(STRONG, "robbing", bid=2)  # the opener has called, the seat before this one has robbed it
    assert (view.stake, view.robs) == (2, 1)
    dealt = worlds(view.seat, 0.5, {view.seat: 0.8, (view.seat - 1) % 3: 0.4})
    decline, rob = appraise(view, dealt, PayoffOptions())
    assert (str(decline.move), decline.chip, str(rob.move), rob.chip) == ("no bid", 2.0, "bid 2", 8.0)
    assert decline.win_rate == pytest.approx(0.5)  # 1 - 0.4 (1 + 2 / 8)
    assert rob.payoff == pytest.approx(8.0 * (2.0 * 0.75 - 1.0))  # 1 - 0.2 (1 + 2 / 8)
    first = appraise(hand_view(STRONG, "robbing"), worlds(0, 0.75), PayoffOptions())
    assert [(one.chip, one.payoff) for one in first] == [(0.0, 0.0), (2.0, pytest.approx(1.0))]


def test_a_hand_is_shown_where_the_doubled_stake_is_worth_what_it_tells() -> None:
    view = hand_view(STRONG, "robbing,showing=true", bottom="345", bid=3)
    assert (view.stage, view.stake) == ("show", 8)
    hidden, shown = worlds(view.seat, 0.75), worlds(view.seat, 0.6)
    answers = appraise(view, hidden, PayoffOptions(), shown)
    assert [(one.chip, one.payoff) for one in answers] == [(16.0, pytest.approx(8.0)), (32.0, pytest.approx(6.4))]
    peasant = hand_view(WEAK, "robbing,showing=true,doubling=true", bottom="345", role="peasant-up", bid=2)
    assert (peasant.stage, peasant.role, peasant.stake) == ("double", "peasant_up", 4)


def test_worlds_of_a_shown_hand_hold_it_and_are_those_of_the_hidden_one() -> None:
    view = hand_view(STRONG, "robbing,showing=true", bottom="345")
    (hidden, one), (shown, other) = hidden_and_shown_views(view, RNG(1))
    first, second = (
        simulate_outcomes(seen, rng, 6, make_agent("rules")) for seen, rng in ((hidden, one), (shown, other))
    )
    assert (first.rows[:, view.seat, HANDS : HANDS + 3] == second.rows[:, view.seat, HANDS : HANDS + 3]).all()
    assert (first.rows[:, view.seat, KNOWN] == Hand.parse("345").word).all()
    assert (second.rows[:, view.seat, KNOWN] == Hand.parse(STRONG + "345").word).all()
    assert (first.returns[:, view.seat] == second.returns[:, view.seat]).all()  # of one base stake: not doubled
    state = State.new(4, "robbing,showing=true")
    agent = make_agent("payoff:worlds=4")
    assert play_game(state, [agent] * 3, make_seat_generators([1], 3)).is_over


@pytest.mark.parametrize("simulation", ["random", "dealt", "stake"])
@pytest.mark.parametrize(("rules", "raised", "bid"), [("bidding", 0, 2), ("robbing", 2, 1)])
def test_good_hands_bid_and_bad_ones_do_not(rules: str, raised: int, bid: int, simulation: Any) -> None:
    agent = PayoffSearchAgent(worlds=40, iterations=800, simulation=simulation)
    strong, weak = hand_view("3456789TJQKA222BR", rules, bid=raised), hand_view(WEAK, rules, bid=bid)
    decision = agent.decide(strong, RNG(0))
    assert str(decision.move) in ("bid 2", "bid 3")
    assert sum(decision.visits.values()) == 800
    declined = agent.decide(weak, RNG(0))
    assert str(declined.move) == "no bid"
    assert agent.decide(weak, RNG(0)) == declined
    if rules == "bidding":
        moves = [str(PayoffAgent(worlds=40).act(view, RNG(0))) for view in (strong, weak)]
        assert moves == ["bid 3", "no bid"]


def auctioned(rules: str, *bids: str) -> State:
    state = State.new(1, rules)
    for bid in bids:
        state.step(bid)
    return state


@pytest.mark.parametrize(
    ("rules", "bids", "named"),
    [
        ("bidding", ["bid 1", "no bid"], [1, 0, 0]),
        ("bidding,bidding=until-passed", ["bid 1", "bid 2", "no bid"], [1, 2, 0]),
        ("bidding,bidding=until-passed", ["bid 1", "bid 2", "no bid", "bid 3"], [3, 2, 0]),
        ("robbing", ["no bid", "call"], [0, 1, 0]),
        ("robbing", ["call", "no rob", "rob"], [1, 0, 2]),
        ("robbing", ["call", "rob", "rob"], [1, 2, 4]),
        ("robbing", ["call", "rob", "rob", "rob"], [8, 2, 4]),
    ],
)
def test_a_seat_has_staked_what_it_has_named(rules: str, bids: list[str], named: list[int]) -> None:
    opener, state = State.new(1, rules).seat, auctioned(rules, *bids)
    assert [stake_of_own_bids(state.row, (opener + place) % 3, state.rule_words) for place in range(3)] == named


def known(state: State, seat: int, own: float) -> Auction:
    """What an observer knows that wins so often under each landlord."""
    return Auction(
        np.zeros((1, 3, 3)), np.zeros((1, 3)), np.full(3, own), seat, float(highest_possible_stake(state.rules)), 6.0
    )


@pytest.mark.parametrize(
    ("rules", "bids", "bid"),
    [
        # The seat wins 0.6 by equation 3, which a bid of 2 lowers to 1 - 0.4 (1 + 2 / 3) = 1 / 3: -2, and to decline
        # is worth 2 (1 - 2 * 0.44 (1 + 2 / 3)) = -0.9.
        ("bidding,bidding=until-passed", ["no bid", "bid 2", "no bid"], 0),
        # With a bid of 1 behind it, it wins 0.6 (1 + 1 / 3) = 0.8, which comes down to 2 / 3: +2.
        ("bidding,bidding=until-passed", ["bid 1", "bid 2", "no bid"], 3),
        # Called and robbed: 0.6 (1 + 1 / 8) = 0.675, down to 1 - 0.325 (1 + 2 / 8) = 0.594: +1.5 against -0.2.
        ("robbing", ["call", "rob", "no rob"], 2),
    ],
)
def test_algorithm_2_reads_what_a_seat_has_bid(rules: str, bids: list[str], bid: int) -> None:
    state = auctioned(rules, *bids)
    auction = known(state, (state.seat + 1) % 3, 0.4)
    assert policy_bid(auction, 0, state.row, state.rule_words, True) == bid


@pytest.mark.parametrize(
    ("bids", "observer", "worth"),
    [
        (["bid 3"], 0, 6 * (0.7 - 0.3)),  # the others have not bid
        (["bid 2", "bid 3"], 1, 6 * (0.7 - 0.3 * (1 + 2 / 3))),  # a peasant that has is stronger
        (["bid 2", "bid 3"], 0, 3 * (0.7 - 0.3 * 2)),  # and so is a landlord
    ],
)
def test_algorithm_2_ends_by_equation_4(bids: list[str], observer: int, worth: float) -> None:
    opener, state, found = State.new(1, "bidding").seat, auctioned("bidding", *bids), np.zeros(3)
    seat = (opener + observer) % 3
    write_end_values(known(state, seat, 0.7), 0, state.row, state.rule_words, True, found)
    assert found[seat] == pytest.approx(worth)
    assert found.sum() == pytest.approx(0)


def test_any_agent_takes_a_bidder() -> None:
    spec = "isuct:iterations=20,bidder=payoff,bidder.worlds=9"
    assert split_bidder(spec) == ("isuct:iterations=20", "payoff:worlds=9")
    assert split_bidder("rules") == ("rules", None)
    agent, rules, state, rng = make_agent("random:bidder=rules"), make_agent("rules"), State.new(2, RULES), RNG(0)
    assert isinstance(agent, AgentWithBidder)
    while state.stage in ("bid", "double"):
        move = agent.act(state.view(), rng)
        assert move == rules.act(state.view(), rng)
        state.step(move)
    assert play_game(State.new(2, RULES), [agent] * 3, make_seat_generators([1], 3)).is_over
    assert len({agent.act(state.view(), RNG(seed)) for seed in range(20)}) > 5  # the cards are still played at random
    views = [State.new(seed, RULES).view() for seed in range(3)]
    moves = agent.act_many(WaitingGames.from_views([*views, state.view()], [RNG(seed) for seed in range(4)]))
    *bids, play = (Move.from_words(*move) for move in moves.tolist())
    assert bids == [rules.act(view, rng) for view in views]
    assert play in state.legal_moves()


@pytest.mark.parametrize("kind", [PayoffAgent, PayoffSearchAgent])
def test_a_card_player_hears_of_the_game(kind: type) -> None:
    agent = kind(worlds=2, card_player="tests.listener:Listener")
    assert play_game(State.new(3, "bidding"), [agent, make_agent("rules"), make_agent("rules")], [RNG(0)] * 3).is_over


def test_wrong_bidders_have_named_errors() -> None:
    for options, error, message in (
        ("bidder=ghost", DouDizhuError, "no agent is called 'ghost'"),
        ("bidder.worlds=5", InvalidAgentOptionError, "need the bidder itself"),
        ("bidder=payoff,bidder.card_player=cheating-uct", InvalidAgentOptionError, "card_player='cheating-uct' cheats"),
    ):
        with pytest.raises(error, match=message):
            make_agent(f"rules:{options}")
    assert parse_agent("policy:bidder=payoff")[1] == {}
    assert digest_agent_files("rules:bidder=policy") == digest_agent_files("policy")


def test_stakes_are_refused_where_there_are_none() -> None:
    agent, state = PayoffAgent(worlds=2), State.new(1, RULES)
    for view, message in ((State.new(1).view(), "nothing to bid"), (state.view((state.seat + 1) % 3), "turn")):
        with pytest.raises(IllegalMoveError, match=message):
            agent.appraise(view, RNG(0))
    for arguments, error, message in (
        ({"hand": "345"}, InvalidDealError, "17"),
        ({"hand": STRONG, "rules": "mini"}, InvalidRulesError, "three players"),
        ({"hand": STRONG, "bid": 3}, InvalidDealError, r"0\.\.2"),
        ({"hand": STRONG, "bottom": "345", "role": "judge"}, InvalidDealError, "unknown role"),
    ):
        with pytest.raises(error, match=message):
            hand_view(**arguments)  # type: ignore[arg-type]


def test_ddz_hand_prints_and_the_json_says_the_same() -> None:
    runner = CliRunner()
    command = ["bidding", STRONG, "--worlds", "100", "--player", "rules"]
    shown = runner.invoke(app, [*command, "--convergence"])
    assert shown.exit_code == 0, shown.output
    (said,) = json.loads(runner.invoke(app, [*command, "--json"]).stdout)
    assert said == json.loads(json.dumps(make_report(hand_view(STRONG), PayoffOptions(worlds=100), 0).as_dict()))
    assert said["best"] == "bid 3"
    assert f"{100 * said['win_rates']['landlord'][0]:.1f}" in shown.output
    assert runner.invoke(app, ["bidding", "333333"]).exit_code == 2


def test_the_lines_of_table_one() -> None:
    lines = summarize_convergence([0.4, *[0.5] * 9, *[0.5] * 10])
    assert [(line.first, line.last) for line in lines] == [(10, 100), (110, 200)]
    assert [(line.mean, line.spread) for line in lines] == [(pytest.approx(0.49), pytest.approx(0.1)), (0.5, 0.0)]
    assert summarize_convergence([1.0] * 9) == []
