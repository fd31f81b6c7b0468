"""What the table shows in a terminal, and what a person types there.

Shown are positions, moves, ranked advice, and where hidden cards are expected; typed are words, and moves in several
notations.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.table import Table as Grid
from rich.text import Text

from ddz_env import Hand, Move, Rules, State, View
from ddz_env.core.actions import action_name
from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.errors import AmbiguousMoveError, DouDizhuError, IllegalMoveError, InvalidHandError, InvalidMoveError
from ddz_env.core.notation import readings_of
from ddz_env.core.spoken import worded
from ddz_env.playing.thoughts import NOBODY, Belief
from ddz_training.apps.cli.console import console, show, tell
from ddz_training.apps.cli.lazily import lazily
from ddz_training.experiments.experiment import Table

with lazily():
    from ddz_env.table import render as table_render
    from ddz_env.table import session as table_session
    from ddz_env.table import texts as table_texts

_WIDTH = 80
"""Columns where there is no terminal."""
_BAR = 10
_MOST_GROUPS, _MOST_KICKERS, _MOST_ALSO = 8, 3, 3
_LINE = 6
"""Moves of an expected line that are shown."""
_LEAST_BOMB = 0.05


class Board:
    """What a person reads, in one language, on 80 columns or as many as the terminal has.

    Args:
        language: ``en`` or ``zh``.
        suits: Whether cards have suits.  They are invented for one observer: where a game can be looked at from
            several seats, no card could keep its suit without telling what the others hold.

    Raises:
        InvalidOptionError: If there is no such language.
    """

    def __init__(self, language: str, *, suits: bool = True) -> None:

        self.say = table_texts.Texts(language)
        self._suits = suits
        self.screen = console()
        if not self.screen.is_terminal:
            self.screen.width = min(self.screen.width, _WIDTH)

    def line(self, key: str, style: str | None = None, **values: object) -> None:
        """A text by its key."""
        self.text(self.say(key, **values), style)

    def copied(self, key: str, style: str | None = None, **values: object) -> None:
        """A text by its key in which a path, a command or an agent's name stands: it is never folded."""
        tell(self.say(key, **values), style, screen=self.screen)

    def text(self, text: str, style: str | None = None) -> None:
        """Any text."""
        self.screen.print(text, markup=False, style=style)

    def complain(self, error: Exception) -> None:
        """What was wrong; what is said of a card or a move names no file, and is folded."""
        said = self.say.complaint(error)
        if isinstance(error, (IllegalMoveError, InvalidHandError, InvalidMoveError)):
            self.text(said, "red")
        else:
            tell(said, "red", screen=self.screen)

    def ask(self, prompt: str) -> str:
        """What a person types; where it comes from a file or a pipe it is written down, as a terminal does.

        Raises:
            EOFError: At the end of the input.
        """
        text = self.screen.input(Text(self.say("asked for", what=prompt)))
        if not sys.stdin.isatty():
            self.text(text)
        return text.strip()

    def converse(self, prompt: Callable[[], str], answer: Callable[[str], bool]) -> bool:
        """Ask, and complain of what was wrong, until an answer is the last one.

        Args:
            prompt: What is asked for.
            answer: Takes what was typed; whether the talk is at its end.

        Returns:
            False if the person leaves, or the input ends.
        """
        while True:
            try:
                text = self.ask(prompt())
            except EOFError:
                return False
            if (word_typed(text) or ("", ""))[0] == "leave":
                return False
            try:
                if answer(text):
                    return True
            except DouDizhuError as error:
                self.complain(error)

    def position(self, position: State | View, viewer: int | None = None) -> None:
        """The table with the cards that a position has: a view is its seat's, a state has every hand."""
        width, language = self.screen.width, self.say.language
        text = table_render.render_ansi(
            position, perspective=viewer, reveal=True, width=width, language=language, suits=self._suits
        )
        self.screen.print()
        self.screen.print(Text.from_ansi(text))

    def turn(self, session: table_session.Session, turn: table_session.Turn) -> None:
        """A move that was made."""
        role, player = self.say(session.role(turn.seat)), session.players[turn.seat]
        move = self.say.move(session.worded(turn.move, turn.number))
        self.copied("made", seat=turn.seat, role=role, player=player, move=move)
        if turn.redealt:
            self.line("redealt")

    def moves(self, session: table_session.Session) -> None:
        """The legal moves of the seat to act, by kind."""
        self.screen.print(moves_table(session.view(session.seat).legal_moves(), self.say, session.worded))

    def thought(self, advice: table_session.Advice) -> None:
        """What an agent compared, on one line; nothing where it tells nothing."""
        rated = [one for one in advice.options[1:] if self._value(one)]
        others = [f"{self._name(one, advice.question)} ({self._value(one)})" for one in rated]
        own = self._value(advice.options[0])
        if own:
            parts = [self.say("chance", percent=own) if advice.chance is not None else own]
            if others:
                parts.append(self.say("also", moves="  ".join(others[:_MOST_ALSO])))
            self.text(f"    {' · '.join(parts)}", "dim")

    def advice(self, advice: table_session.Advice) -> None:
        """What an agent would play, and its ranked moves: main groups, and below them the kickers."""
        percent = _percent(advice.chance)
        told = self.say("would play", agent=advice.agent, move=self.say.move(advice.said(advice.options[0])))
        tell(told + (f" ({self.say('chance', percent=percent)})" if percent else ""), "bold", screen=self.screen)
        if len(advice.options) < 2:
            return
        value = "chance column" if advice.chance is not None else "score column"
        groups = advice.groups
        lines = [line for group in groups[:_MOST_GROUPS] for line in self._lines(group, advice.question)]
        notes = [self.say("more moves", number=len(groups) - _MOST_GROUPS)] if len(groups) > _MOST_GROUPS else []
        if advice.chance is not None and advice.options[0].visits:
            notes.append(self.say("tried out"))
        header = [self.say(key) for key in ("move column", value, "visits column", "line column")]
        show(Table("", header, lines, " · ".join(notes)), screen=self.screen)

    def belief(self, belief: Belief, view: View, agent: str) -> None:
        """Where an agent expects the hidden cards: a row a holder, a column a rank."""
        expected, unseen = belief.expected(), view.unseen.counts
        ranks = [rank for rank, count in enumerate(unseen) if count]
        self.copied("believes", agent=agent)
        holders = [seat for seat in range(view.rules.players) if seat != view.seat]
        lines = [
            (
                self.say("nobody holds") if holder == NOBODY else self.say("holder", seat=holder),
                *(f"{expected[holder, rank]:.1f}" for rank in ranks),
            )
            for holder in (*holders, NOBODY)
            if expected[holder].sum() > 0
        ]
        show(Table("", ("", *(RANK_NAMES[rank] for rank in ranks)), lines), screen=self.screen)
        for seat in holders:
            fours = [(belief.chances[seat, rank, 4], RANK_NAMES[rank] * 4) for rank in ranks]
            likely = sorted((one for one in fours if one[0] >= _LEAST_BOMB), reverse=True)
            if likely:
                self.line("may bomb", seat=seat, bombs="  ".join(f"{cards} ({_percent(p)})" for p, cards in likely))

    def _lines(self, group: table_session.Group, asked: str) -> Iterator[tuple[str, ...]]:
        """A main group; where its kickers differ, some of them below it."""
        first = group.options[0]
        if len(group.options) == 1:
            yield self._line(self._name(first, asked), first)
            return
        yield action_name(group.main).rpartition(" ")[2], self._bar(group.chance), _count(group.visits), ""
        for option in group.options[:_MOST_KICKERS]:
            yield self._line(f"  {self._name(option, asked)}", option)
        if len(group.options) > _MOST_KICKERS:
            yield f"  {self.say('more kickers', number=len(group.options) - _MOST_KICKERS)}", "", "", ""

    def _line(self, name: str, option: table_session.Option) -> tuple[str, ...]:
        value = self._bar(option.chance) if option.score is None else f"{option.score:+.2f}"
        return name, value, _count(option.visits), " ".join(self.say.move(move) for move in option.line[:_LINE])

    def _bar(self, chance: float | None) -> str:
        """A bar and a percentage."""
        if chance is None:
            return ""
        filled = round(chance * _BAR)
        full, empty = ("█", "░") if self.screen.encoding.lower().startswith("utf") else ("#", ".")
        return f"{full * filled}{empty * (_BAR - filled)} {_percent(chance):>6}"

    def _name(self, option: table_session.Option, asked: str) -> str:

        if option.move is None:
            return self.say.move(option.text.rpartition(" ")[2])
        return self.say.move(worded(option.move, asked))

    def _value(self, option: table_session.Option) -> str:
        return _percent(option.chance) if option.score is None else f"{option.score:+.2f}"


def _percent(chance: float | None) -> str:
    return "" if chance is None else f"{100 * chance:.1f} %"


def _count(visits: int | None) -> str:
    return "" if visits is None else f"{visits:,}"


class Talk:
    """The talk of one session.

    Args:
        board: Where answers are written.
        session: The game.
        hints: The agent that is asked for hints.
    """

    def __init__(self, board: Board, session: table_session.Session, hints: str) -> None:
        self.board, self.session, self.hints = board, session, hints
        self._advice: table_session.Advice | None = None

    @property
    def viewer(self) -> int:
        """Whose cards are shown: the observer's at an observed table, elsewhere those of the seat to act."""
        observer = self.session.observer
        return self.session.seat if observer is None else observer

    def move(self, prompt: str) -> bool:
        """Read until a decision has been made or taken back.

        Args:
            prompt: What the person is asked for.

        Returns:
            False if the person leaves.
        """
        return self.board.converse(lambda: prompt, self._take)

    def _take(self, text: str) -> bool:
        """Answer a word, or play a move; whether the game has changed."""
        typed = word_typed(text)
        if typed is not None:
            return self._answer(*typed)
        self._play(understood(text, self.session.question, self.session.rules, self.session.can_play))
        return True

    def hint(self, agent: str = "") -> table_session.Advice:
        """Show what an agent would do, and remember it."""
        self._advice = self.session.hint(agent or self.hints)
        self.board.advice(self._advice)
        return self._advice

    def _play(self, move: Move) -> None:
        self.session.play(move)
        self._advice = None

    def _answer(self, word: str, rest: str) -> bool:
        """Answer a word; whether the game has changed."""
        board, session = self.board, self.session
        if word == "help":
            board.text(board.say.help(session.question))
        elif word == "board":
            board.position(session.position(self.viewer), self.viewer)
        elif word == "moves":
            board.moves(session)
        elif word == "hint":
            self.hint(rest)
        elif word == "cards":
            agent = rest or self.hints
            board.belief(session.belief(agent, self.viewer), session.view(self.viewer), agent)
        elif word == "undo":
            if rest and not rest.isdecimal():
                raise table_session.SessionError(
                    "undo takes the number of a move, as 'undo 12', not {text}", text=repr(rest)
                )
            turn = session.undo(int(rest) if rest else None)
            self._advice = None
            board.line("took back", move=board.say.move(session.worded(turn.move)))
            return True
        elif self._advice is None:
            board.line("no hint")
        else:
            self._play(self._advice.move)
            return True
        return False


# --- what is typed -----------------------------------------------------------

WORDS = {
    "leave": (":q", "quit", "exit", "退出", "离开"),
    "help": ("", "h", "help", "帮助"),
    "moves": ("?", "moves", "可出"),
    "hint": ("hint", "提示"),
    "ok": ("ok", "好"),
    "cards": ("cards", "猜牌"),
    "undo": ("undo", "悔牌", "悔棋", "撤销"),
    "board": ("board", "牌面"),
}
"""What can be typed that is no move."""

_ANSWERS = {
    "play": {**dict.fromkeys(("p", "no", "要不起"), "pass"), **dict.fromkeys(("王炸", "rocket"), "BR")},
    "bid": {
        **{f"{form}": f"bid {bid}" for bid in (1, 2, 3) for form in (bid, f"叫{bid}分", f"{bid}分")},
        **dict.fromkeys(("0", "no", "p", "pass", "不叫"), "no bid"),
    },
    "call": {**dict.fromkeys(("y", "yes"), "call"), **dict.fromkeys(("0", "n", "no", "p", "pass"), "no call")},
    "rob": {**dict.fromkeys(("y", "yes"), "rob"), **dict.fromkeys(("0", "n", "no", "p", "pass"), "no rob")},
    "show": {**dict.fromkeys(("y", "yes"), "show"), **dict.fromkeys(("n", "no", "p", "pass"), "no show")},
    "double": {
        **dict.fromkeys(("y", "yes", "加倍"), "double"),
        **dict.fromkeys(("n", "no", "p", "pass", "不加倍"), "no double"),
    },
}
"""Short answers by stage."""

_JOKERS = str.maketrans({"x": "b", "d": "r", "X": "B", "D": "R"})
"""Other letters of the jokers (小 and 大)."""


def word_typed(text: str) -> tuple[str, str] | None:
    """A key of :data:`WORDS` and what stands behind the word; None where a text begins with none of them."""
    first, _, rest = unicodedata.normalize("NFKC", text).strip().partition(" ")
    known = (key for key, words in WORDS.items() if first.lower() in words)
    key = next(known, None)
    return None if key is None else (key, rest.strip())


def understood(text: str, asked: str, rules: Rules, playable: Callable[[Move], bool]) -> Move:
    """The move that a text means; bare cards mean the one reading that can be played.

    Args:
        text: What was typed: notation, or a short answer in the auction and at doubling (``2``, ``no``).
        asked: What the seat to act is asked (:func:`ddz_env.core.spoken.question`).
        rules: The rules.
        playable: Whether a move can be played; asked where cards can be read as several.

    Raises:
        DouDizhuError: If the text is no move.
    """
    plain = unicodedata.normalize("NFKC", text)
    word = " ".join(plain.lower().split())
    plain = _ANSWERS[asked].get(word, plain)
    if asked == "play" and not word.startswith(("bid", "double", "no ")):
        plain = plain.translate(_JOKERS)
    try:
        return Move.parse(plain, rules)
    except AmbiguousMoveError:
        fitting = [move for move in readings_of(Hand.parse(plain), rules) if playable(move)]
        if len(fitting) != 1:
            raise
        return fitting[0]


def moves_by_kind(moves: Iterable[Move], write: Callable[[Move], str] = str) -> dict[str, list[str]]:
    """Legal moves, shortly: the bodies by category, each with the ranks that may be its kickers.

    Args:
        moves: Legal moves, in their order.
        write: Writes those without kickers.

    Example:
        >>> from ddz_env import State
        >>> moves_by_kind(State.from_hands(["333456", "7", "8"], check_sizes=False).legal_moves())
        {'solo': ['3', '4', '5', '6'], 'pair': ['33'], 'trio': ['333'], 'trio+solo': ['333+[456]']}
    """
    kickers: dict[Move, set[int]] = {}
    for move in moves:
        first = next((known for known in kickers if known.main == move.main), move)
        kickers.setdefault(first, set()).update(move.kickers)
    kinds: dict[str, list[str]] = {}
    for move, ranks in kickers.items():
        text = write(move)
        if move.group is not None and ranks:
            number = f"{len(move.kickers)}×" if len(move.kickers) > 1 else ""
            text = f"{Hand(move.group.need)}+{number}[{''.join(RANK_NAMES[rank] for rank in sorted(ranks))}]"
        kinds.setdefault(move.category, []).append(text)
    return kinds


def moves_table(
    moves: Sequence[Move], say: table_texts.Texts | None = None, write: Callable[[Move], str] = str
) -> Grid:
    """The legal moves for the screen, a row a category, in English or the language of the texts."""
    say = say or table_texts.Texts()
    table = Grid.grid(padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    numbers = Counter(move.category for move in moves)
    for kind, texts in moves_by_kind(moves, write).items():
        name = f"{say(kind)} ({numbers[kind]})" if numbers[kind] > 1 else say(kind)
        table.add_row(name, Text("" if texts == [kind] else "  ".join(map(say.move, texts))))
    if any(move.kickers for move in moves):
        table.add_row("", Text(say("kicker legend"), style="dim"))
    return table
