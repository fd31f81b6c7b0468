"""Training: moves consumed a second by self-play.

Whole moves count, forced ones included, as DouZero's *frames* do; what is learned from stands in a line of its own.
"""

from __future__ import annotations

from ddz_training.measure.speed.benchmark import Contender, Work, rate


@rate
def own_training(*, learned: bool = False) -> Work:
    """Self-play with networks of the shipped sizes and one thread a core; the learner plays all seats.

    Args:
        learned: Whether the decisions with a choice, kickers included, are counted that are learned from; else whole
            moves, forced ones included.
    """
    from ddz_agents.neural.shipped import shipped_policy_path
    from ddz_agents.neural.weights import load_weights
    from ddz_training.learn.ppo.config import SelfPlayConfig
    from ddz_training.learn.ppo.selfplay import SelfPlay

    start = load_weights(shipped_policy_path())
    config = SelfPlayConfig(architecture=start.policy.architecture, minibatch=2048, opponent_share=0.0)
    run = SelfPlay(config, start=start)
    while True:
        before = run.counters.decisions
        run.step()
        yield run.counters.decisions - before if learned else run.moves


OURS = (
    Contender("ddz-env PPO self-play, every move (as DouZero's frames)", own_training()),
    Contender("ddz-env PPO self-play, decisions with a choice only", own_training(learned=True)),
)
