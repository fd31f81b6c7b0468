"""Settings that every test shares."""

from __future__ import annotations

import os

# Before anything imports pygame: draw without a display.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

from hypothesis import settings

# derandomize: the same examples in every run; no deadline: the first call of a kernel compiles it.
settings.register_profile("ddz", derandomize=True, deadline=None)
settings.load_profile("ddz")
