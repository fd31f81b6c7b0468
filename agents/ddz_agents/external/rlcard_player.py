"""An adapter that lets agents of this package play in RLCard's ``doudizhu`` environment.

::

    env = rlcard.make("doudizhu")
    env.set_agents([RLCardPlayer("rules"), RandomAgent(env.num_actions), RandomAgent(env.num_actions)])
    _, payoffs = env.run()
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain, islice
from typing import Any

from ddz_agents.external.rlcard_rule import card_string
from ddz_env import State
from ddz_env.core.notation import Hand
from ddz_env.playing.agent import Agent, is_cheating
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.registry import make_agent
from ddz_env.support.checks import check_seed
from ddz_env.support.errors import IllegalMoveError, InvalidOptionError

PASS = "pass"


class RLCardPlayer:
    """An agent of this package with the methods that RLCard expects of an agent.

    It gets a :class:`~ddz_env.View` that holds what RLCard shows the seat.  Every move is an independent
    question: the agent's ``reset`` and ``observe`` are not called, because RLCard does not say when a game begins.

    Args:
        agent: A name with options (``"rules"``, ``"isuct:iterations=200"``), or an agent.
        seed: Of the agent's own draws.

    Attributes:
        use_raw: True: RLCard hands over and takes moves as text.

    Raises:
        UnknownAgentError: If no agent has the name.
        InvalidOptionError: If the agent looks at hidden cards, which RLCard does not show, or an option is wrong.
    """

    use_raw = True

    def __init__(self, agent: str | Agent, seed: int = 0) -> None:
        self.agent: Agent = make_agent(agent)
        if is_cheating(self.agent):
            raise InvalidOptionError(f"{self.agent.name} looks at hidden cards, which RLCard does not show")
        self._rng = make_agent_generator([check_seed(seed)])

    def step(self, state: Mapping[str, Any]) -> str:
        """Choose a move and return it in RLCard's notation (RLCard calls this method during training).

        Args:
            state: What RLCard's environment hands to its agents.

        Raises:
            IllegalMoveError: If the agent's move is none of RLCard's.
        """
        raw = state["raw_obs"]
        move = card_string(self.agent.act(state_from_rlcard(raw).view(raw["self"]), self._rng))
        if move not in raw["actions"]:
            raise IllegalMoveError(f"{self.agent.name} plays {move}, which RLCard does not allow")
        return move

    def eval_step(self, state: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the move of :meth:`step` with an empty info dict, as RLCard's evaluation expects."""
        return self.step(state), {}


def state_from_rlcard(raw: Mapping[str, Any]) -> State:
    """Build a game in which one seat sees what RLCard's raw observation contains.

    Cards that the seat cannot see lie in either hand; a view does not depend on it.  RLCard strikes landlord cards from
    its list as soon as the landlord plays one of that rank, and does not say which they were: those that the list
    lacks are taken from what the landlord has played.

    Args:
        raw: RLCard's ``state["raw_obs"]``.
    """
    played = [Counter(_cards_played_by(raw, seat)) for seat in range(3)]
    bottom = _landlord_cards(raw, played[0])
    hands = _assign_hands(raw, bottom - played[0])
    dealt = [hand + before for hand, before in zip(hands, played, strict=True)]
    dealt[0] -= bottom  # the landlord, who is seat 0 in RLCard
    state = State.from_hands([_parse_hand(cards) for cards in dealt], _parse_hand(bottom), "rlcard")
    for _, move in raw["trace"]:
        state.step(move)
    return state


def _cards_played_by(raw: Mapping[str, Any], seat: int) -> str:
    return "".join(move for other, move in raw["trace"] if other == seat and move != PASS)


def _landlord_cards(raw: Mapping[str, Any], played: Counter[str]) -> Counter[str]:
    """Find the three face-up cards, although RLCard's list omits cards whose ranks were already played."""
    held = raw["current_hand"] if raw["self"] == 0 else raw["others_hand"]
    struck = chain(played.elements(), (card for card in held if card in played))
    return Counter(raw["seen_cards"]) + Counter(islice(struck, 3 - len(raw["seen_cards"])))


def _assign_hands(raw: Mapping[str, Any], face_up: Counter[str]) -> list[Counter[str]]:
    """Assign the unseen cards to hands of the right sizes, with unplayed face-up cards in the landlord's hand."""
    seat = raw["self"]
    hands = [face_up if other == 0 != seat else Counter[str]() for other in range(3)]
    hands[seat] = Counter(raw["current_hand"])
    unseen = Counter(raw["others_hand"])
    if seat != 0:
        unseen -= face_up
    cards = unseen.elements()
    for other, size in enumerate(raw["num_cards_left"]):
        hands[other] = hands[other] + Counter(islice(cards, size - hands[other].total()))
    return hands


def _parse_hand(cards: Counter[str]) -> Hand:
    return Hand.parse("".join(cards.elements()))
