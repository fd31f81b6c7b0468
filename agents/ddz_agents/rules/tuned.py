"""The rule agent at other prices: those that local beam search found on deals of its own (``ddz reproduce tuning``).

``rules`` itself stays as it is, because scales and policies refer to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.agent import PricedAgent
from ddz_env import View

# Shape and meaning as ``ddz_agents.rules.weights.WEIGHTS``.
LANDLORD = np.array(
    [
        0,
        178,
        -20,
        175,
        0,
        200,
        9,
        179,
        -243,
        -51,
        100,
        10,
        10,
        9,
        16,
        8,
        0,
        28,
        60,
        -28,
        34,
        69,
        63,
        108,
        85,
        18,
        20,
        179,
        -43,
        -13,
        0,
        7,
        0,
    ],
    np.int64,
)
PEASANTS = np.array(
    [
        -9,
        161,
        -21,
        181,
        -2,
        203,
        8,
        176,
        -204,
        -46,
        93,
        10,
        10,
        13,
        16,
        9,
        0,
        40,
        77,
        -29,
        50,
        69,
        69,
        108,
        85,
        18,
        20,
        332,
        -15,
        5,
        -11,
        1,
        4,
    ],
    np.int64,
)


class RulesTunedAgent(PricedAgent):
    """The rule agent with prices of its own for landlords and for peasants; in an auction it takes the landlord's."""

    name = "rules-tuned"

    def weights(self, view: View) -> npt.NDArray[np.int64]:
        """The weights of the seat's role."""
        return LANDLORD if view.landlord in (None, view.seat) else PEASANTS
