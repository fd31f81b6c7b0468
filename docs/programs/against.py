"""Play a thousand games against a frozen policy: ``python docs/programs/against.py``."""

import gymnasium
import numpy as np

import ddz_env  # noqa: F401  # registers the environment

envs = gymnasium.make_vec("ddz_env/DouDizhu-v0", 100, "vector_entry_point", opponents="policy-v2", role="landlord")
envs.reset(seed=1)
rng, returns = np.random.default_rng(1), []
while len(returns) < 1000:
    masks = envs.unwrapped.action_masks()
    actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])  # put your own player here
    _, rewards, over, _, _ = envs.step(actions)
    returns += rewards[over].tolist()
print(f"won {100 * np.mean(np.array(returns) > 0):.1f} % of {len(returns)} games as the landlord")
