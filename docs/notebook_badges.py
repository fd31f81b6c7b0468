"""The badge below a notebook's title that opens the notebook in Colab, which reads it from the repository's address."""

from __future__ import annotations

import re

_BADGE = re.compile(r' *"\[!\[Open in Colab\][^\n]*\n *"\\n",\n')
_TITLE = re.compile(r'( *)"# [^\n]*\n *"\\n",\n')
PLACEHOLDER = "-"
"""How the address begins as long as there is none."""


def with_badge(notebook: str, name: str, repository: str) -> str:
    r"""Return a notebook's JSON with a badge for the given repository, or with none as long as it has no address.

    Args:
        notebook: The notebook's text.
        name: The name of its file.
        repository: The owner and the name.

    Example:
        >>> plain = '    "# Search\\n",\n    "\\n",\n    "Text."\n'
        >>> (
        ...     with_badge(plain, "2.ipynb", "-OWNER-/game") == plain,
        ...     "me/game/blob" in with_badge(plain, "2.ipynb", "me/game"),
        ... )
        (True, True)
    """
    text = _BADGE.sub("", notebook)
    if repository.startswith(PLACEHOLDER):
        return text
    badge = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    link = f"(https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name})"
    return _TITLE.sub(
        lambda title: rf'{title[0]}{title[1]}"{badge}{link}\n",' + "\n" + rf'{title[1]}"\n",' + "\n", text, count=1
    )
