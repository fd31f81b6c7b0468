"""``ddz docs``: the generated tables of the docs pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddz_env.core.errors import plural
from ddz_training.apps.cli.console import remark


def docs(
    pages: Annotated[list[Path] | None, typer.Argument(help="Pages; all those of this checkout by default.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Fail if a page is out of date; write nothing.")] = False,
) -> None:
    """Regenerate the tables of the docs pages (for developers, in a checkout)."""
    from ddz_training.apps.documentation import StaleDocsError, generated_pages, refresh, refresh_strengths

    chosen = pages or generated_pages(Path())
    if not chosen:
        raise StaleDocsError("there are no docs/**/*.md here: run this in a checkout, or name the pages")
    missing = [str(page) for page in chosen if not page.is_file()]
    if missing:
        raise StaleDocsError(f"no such page: {', '.join(missing)}")
    changed = refresh(chosen, check=check)
    if pages is None:
        changed += refresh_strengths(check=check)
    remark(f"{plural(len(chosen), 'page')}, {len(changed)} rewritten", None)
