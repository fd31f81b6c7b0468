"""Options as data: a frozen dataclass defines the signature, checks, help, docs and error messages.

An option is a field.  Its annotation says what it may be, the docstring's ``Attributes:`` what it means:

    >>> @dataclasses.dataclass(frozen=True)
    ... class SearchOptions(Options):
    ...     '''How to search.
    ...
    ...     Attributes:
    ...         iterations: Iterations per decision.
    ...         final: The move with most visits, or with the best mean.
    ...     '''
    ...
    ...     iterations: Annotated[int, Range(1, 1_000_000)] = 1000
    ...     final: Literal["visits", "value"] = "visits"
    >>> SearchOptions(iterations=2e3)
    SearchOptions(iterations=2000, final='visits')
    >>> SearchOptions(iterations=0)
    Traceback (most recent call last):
    ...
    ddz_env.support.errors.InvalidAgentOptionError: iterations=0 must be a whole number from 1 to 1,000,000
    >>> SearchOptions.from_values(iteration=5)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ...
    ddz_env.support.errors.InvalidAgentOptionError: there is no option 'iteration' (did you mean 'iterations'?); there
    are iterations, final

An agent takes the fields of its options, for a type checker and an editor, too:

    >>> class SearchAgent:
    ...     @takes_options(SearchOptions)
    ...     def __init__(self, options: SearchOptions) -> None:
    ...         self.options = options
    >>> SearchAgent(iterations=5).options
    SearchOptions(iterations=5, final='visits')
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from ddz_env.support.errors import DouDizhuError, InvalidAgentOptionError, short_repr, suggest_name

_Options = TypeVar("_Options", bound="Options")
_Self = TypeVar("_Self")
_Fields = ParamSpec("_Fields")


class Range(NamedTuple):
    """The bounds of a numeric option, written after its type: ``Annotated[float, Range(0, 1)]``.

    Attributes:
        least: The smallest value allowed; None for no bound.
        most: The largest.
        above: Whether ``least`` itself is excluded.
    """

    least: float | None = None
    most: float | None = None
    above: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, (int, float)):
            return False
        low = self.least is None or (value > self.least if self.above else value >= self.least)
        return bool(low and (self.most is None or value <= self.most))

    def __str__(self) -> str:
        bounds = [f"{bound:,}" if isinstance(bound, int) else f"{bound:g}" for bound in self[:2] if bound is not None]
        if len(bounds) == 2:
            return f"above {bounds[0]}, at most {bounds[1]}" if self.above else f"from {bounds[0]} to {bounds[1]}"
        if self.least is not None:
            return f"above {bounds[0]}" if self.above else f"of at least {bounds[0]}"
        return f"of at most {bounds[0]}" if bounds else ""


class Option(NamedTuple):
    """An option's name, default, allowed values and meaning, for checks, help and docs.

    Attributes:
        name: Its name.
        default: Its default, or ``dataclasses.MISSING``.
        kinds: The types that it may have besides None: ``int``, ``float``, ``bool``, ``str`` or any other.
        choices: The values that it may have; empty for any.
        range: The bounds of a number.
        optional: Whether it may be None.
        meaning: A sentence or two.
        element: What each entry of a list may be; None for anything.
    """

    name: str
    default: Any
    kinds: tuple[type, ...]
    choices: tuple[Any, ...]
    range: Range
    optional: bool
    meaning: str
    element: Option | None = None

    @property
    def default_text(self) -> str:
        """The default in command-line form, or a dash if there is no default."""
        return "–" if self.default is dataclasses.MISSING else format_option_value(self.default)

    @property
    def is_textual(self) -> bool:
        """Whether a value other than None can be given as a string."""
        return bool(self.choices or {int, float, bool, str, tuple, object}.intersection(self.kinds))

    @property
    def allowed_values(self) -> str:
        """A description of the allowed values in words."""
        words = [", ".join(map(str, self.choices))] if self.choices else []
        if bool in self.kinds:
            words.append("true or false")
        if int in self.kinds or float in self.kinds:
            number = "a number" if float in self.kinds else "a whole number"
            words.append(f"{number} {self.range}".strip())
        if tuple in self.kinds:
            words.append("a list, separated by commas")
        if str in self.kinds:
            words.append("text")
        elif object in self.kinds:
            words.append("anything")
        elif not words:
            words += [getattr(kind, "__name__", str(kind)) for kind in self.kinds]
        return ", or ".join([*words, "none"] if self.optional else words)

    def convert(self, value: Any, error: type[DouDizhuError]) -> Any:
        """Convert a value to the option's type, for example ``1e4`` to the integer 10,000, or a list to a tuple.

        Raises:
            DouDizhuError: ``error``, if it is not one of the values allowed.
        """
        value = value.item() if getattr(value, "ndim", None) == 0 else value  # a scalar of NumPy
        if value is None and self.optional:
            return None
        for choice in self.choices:
            if type(value) is type(choice) and value == choice:
                return choice
        if object in self.kinds:
            return value
        if isinstance(value, bool):
            if bool in self.kinds:
                return value
        elif isinstance(value, (int, float)):
            number = self._as_number(value)
            if number is not None:
                return number
            if Path in self.kinds:  # a file's name may look like a number
                return str(value)
        elif isinstance(value, (list, tuple)) and tuple in self.kinds:
            return tuple(self._element_option(index).convert(entry, error) for index, entry in enumerate(value))
        elif isinstance(value, str) and Path in self.kinds:
            return value if str in self.kinds else Path(value)
        elif any(isinstance(value, kind) for kind in self.kinds if kind not in (int, float, bool)):
            return value
        allowed = f"{'one of ' if len(self.choices) > 1 else ''}{self.allowed_values}"
        raise error(f"{self.name}={short_repr(value)} must be {allowed}{suggest_name(value, map(str, self.choices))}")

    def _element_option(self, index: int) -> Option:
        """Return the option that checks the list entry at a given index."""
        whole = self.element or Option("", dataclasses.MISSING, (object,), (), Range(), True, "")
        return whole._replace(name=f"{self.name}[{index}]")

    def _as_number(self, value: Any) -> int | float | None:
        """Convert a number to one of the option's types; return None if no type fits or it is out of range."""
        # Integers are compared as they are: as floats those of hundreds of digits would overflow.
        if not (isinstance(value, int) or math.isfinite(value)) or value not in self.range:
            return None
        if int in self.kinds and value == int(value):
            return int(value)
        try:
            return float(value) if float in self.kinds else None
        except OverflowError:
            return None

    @property
    def nested_options(self) -> tuple[Option, ...]:
        """The nested options, if the option's type is itself a set of options; empty for any other option."""
        kind = self.kinds[0] if self.kinds else None
        return kind.options() if isinstance(kind, type) and issubclass(kind, Options) else ()

    def read(self, text: str, error: type[DouDizhuError]) -> Any:
        """Parse the option's value from a string, such as ``0.5``, ``true`` or ``a,b`` for a list.

        Raises:
            DouDizhuError: ``error``, if it is not one of the values allowed.
        """
        if tuple in self.kinds:
            parts = filter(None, (part.strip() for part in text.split(",")))
            return tuple(self._element_option(index).read(part, error) for index, part in enumerate(parts))
        if text in self.choices:
            return text
        value = parse_option_value(text)
        is_text = (value is not None or not self.optional) and (str in self.kinds or Path in self.kinds)
        return self.convert(text if is_text else value, error)


class Options:
    """The base class for sets of options; every subclass is a frozen dataclass.

    Attributes:
        error: What is raised.

    Raises:
        InvalidAgentOptionError: If a value is not allowed (a subclass may name another error).
    """

    error: ClassVar[type[DouDizhuError]] = InvalidAgentOptionError

    def __post_init__(self) -> None:
        for option in self.options():
            object.__setattr__(self, option.name, option.convert(getattr(self, option.name), self.error))
        self.check()

    def check(self) -> None:
        """Reject options that contradict each other; subclasses with such options override this method."""

    @classmethod
    @functools.cache
    def options(cls) -> tuple[Option, ...]:
        """Return all options in order, beginning with those of base classes."""
        hints, meaning = typing.get_type_hints(cls, include_extras=True), parse_attribute_docs(cls)
        fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cls)  # type: ignore[arg-type]  # a subclass's
        return tuple(_option_from_field(field, hints[field.name], meaning.get(field.name, "")) for field in fields)

    @classmethod
    def from_values(cls: type[_Options], *values: Any, **named: Any) -> _Options:
        """Make the options from positional and named values, raising package errors instead of ``TypeError``.

        Raises:
            InvalidAgentOptionError: If there is no such option, its value is not allowed, or one without a default is
                missing.
        """
        cls.check_names(named)
        for option in cls.options()[len(values) :]:
            if option.default is dataclasses.MISSING and option.name not in named:
                raise cls.error(f"option {option.name!r} has no default: it must be {option.allowed_values}")
        return cls(*values, **named)

    @classmethod
    def check_names(cls, names: Iterable[str]) -> None:
        """Reject names that are not options, suggesting the nearest option name.

        Raises:
            InvalidAgentOptionError: If there is one.
        """
        refuse_unknown(names, [option.name for option in cls.options()], cls.error)

    @classmethod
    def read(cls, texts: Iterable[str]) -> dict[str, Any]:
        """Parse ``name=value`` strings into option values of the right types.

        Args:
            texts: ``name=value`` each; ``name.part=value`` for an option that is a set of options itself.

        Returns:
            Name to value, of the option's type.

        Raises:
            InvalidAgentOptionError: If a text is not ``name=value``, there is no such option, or its value is not
                allowed.
        """
        options = {option.name: option for option in cls.options() if not option.nested_options}
        for option in cls.options():
            options |= {f"{option.name}.{part.name}": part for part in option.nested_options}
        return read_options(texts, options, cls.error)

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name as plain values, for storage in files."""
        plain = dataclasses.asdict(self)  # type: ignore[call-overload]  # a subclass is a dataclass
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    def files(self) -> tuple[Path, ...]:
        """Return the paths of the files that the options name and that an agent with these options reads."""
        paths = (getattr(self, option.name) for option in self.options() if Path in option.kinds)
        return tuple(Path(path) for path in paths if path is not None)

    def named_agents(self) -> tuple[str, ...]:
        """Return the specifications of the other agents that an agent with these options asks for moves."""
        return ()

    @classmethod
    def from_dict(cls: type[_Options], values: Any) -> _Options:
        """Make the options from plain values by name; the inverse of :meth:`as_dict`.

        Raises:
            InvalidAgentOptionError: If options are missing, unknown or have values that are not allowed.
        """
        if not isinstance(values, Mapping):
            raise cls.error(f"options are names with values, not {short_repr(values)}")
        kinds: dict[str, Any] = {
            option.name: option.kinds[0] if option.nested_options else None for option in cls.options()
        }
        if different := sorted(map(str, set(values) ^ set(kinds))):
            raise cls.error(f"options differ in {', '.join(different)}")
        return cls(**{name: kinds[name].from_dict(value) if kinds[name] else value for name, value in values.items()})


def read_options(texts: Iterable[str], options: Mapping[str, Option], error: type[DouDizhuError]) -> dict[str, Any]:
    """Parse ``name=value`` strings, converting each value to the type of its option.

    Raises:
        DouDizhuError: ``error``, if a text is of another form, an option unknown, or its value not allowed.
    """
    written = split_options(texts, error)
    refuse_unknown(written, list(options), error)
    return {name: options[name]._replace(name=name).read(value, error) for name, value in written.items()}


def split_options(texts: Iterable[str], error: type[DouDizhuError]) -> dict[str, str]:
    """Split ``name=value`` strings into a mapping from names to values.

    Raises:
        DouDizhuError: ``error``, if one is of another form or an option is given twice.
    """
    options: dict[str, str] = {}
    for text in texts:
        name, equals, value = (piece.strip() for piece in text.partition("="))
        if not equals or not name or not value:
            raise error(f"{short_repr(text)} is not name=value")
        if name in options:
            raise error(f"option {name!r} is given twice")
        options[name] = value
    return options


def format_option_value(value: object) -> str:
    """Format a value in command-line form; the inverse of :func:`parse_option_value`.

    Example:
        >>> (
        ...     format_option_value(None),
        ...     format_option_value(True),
        ...     format_option_value(("random", "rules")),
        ...     format_option_value(0.5),
        ... )
        ('none', 'true', 'random,rules', '0.5')
    """
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def parse_option_value(text: str) -> Any:
    """Parse a string as ``true``, ``false``, ``none``, an integer or a float; return any other string unchanged."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def refuse_unknown(names: Iterable[str], options: Sequence[str], error: type[DouDizhuError]) -> None:
    """Reject names that are not options, suggesting the nearest option name.

    Raises:
        DouDizhuError: ``error``, if there is one.
    """
    for name in names:
        if name not in options:
            choices = f"there are {', '.join(options)}" if options else "there are none"
            raise error(f"there is no option {name!r}{suggest_name(name, options)}; {choices}")


def takes_options(
    options: Callable[_Fields, _Options],
) -> Callable[[Callable[[_Self, _Options], None]], Callable[Concatenate[_Self, _Fields], None]]:
    """Decorate a constructor that takes one set of options, so that callers pass the options' fields instead.

    Type checkers, editors and ``help`` see the fields as the constructor's parameters.

    Args:
        options: The class of the options.
    """
    kind: Any = options  # a class; type checkers read its fields only where it is declared as a function

    def decorate(init: Callable[[_Self, _Options], None]) -> Callable[Concatenate[_Self, _Fields], None]:
        @functools.wraps(kind.__init__)
        def made(self: _Self, /, *values: _Fields.args, **named: _Fields.kwargs) -> None:
            init(self, kind.from_values(*values, **named))

        made.options_type = kind  # type: ignore[attr-defined]  # a function has no such attribute to the checker
        return made

    return decorate


def find_options_type(factory: Callable[..., Any]) -> type[Options] | None:
    """Return the options type that a class declares (:func:`takes_options`), or None if it declares no options."""
    return getattr(factory.__init__, "options_type", None)


def list_signature_options(factory: Callable[..., Any]) -> tuple[Option, ...] | None:
    """List the named parameters of a constructor or function as options.

    Returns:
        Its options in order; None if it takes any name (``**options``), or is not made in Python.

    Example:
        >>> def make(depth: int = 3, *, path: str | None = None): ...
        >>> [(option.name, option.default_text, option.allowed_values) for option in list_signature_options(make)]
        [('depth', '3', 'a whole number'), ('path', 'none', 'text, or none')]
    """
    try:
        parameters = inspect.signature(factory, eval_str=True).parameters.values()
    except (TypeError, ValueError):
        return None
    except NameError:  # an annotation that only type checkers can read
        parameters = inspect.signature(factory).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(_option_from_parameter(parameter) for parameter in parameters if parameter.kind in named)


def _option_from_parameter(parameter: inspect.Parameter) -> Option:
    """Make an option from a parameter; without an annotation, any value is allowed."""
    default = dataclasses.MISSING if parameter.default is parameter.empty else parameter.default
    unknown = parameter.annotation is parameter.empty or isinstance(parameter.annotation, str)
    return _option_from_hint(parameter.name, default, Any if unknown else parameter.annotation)


def _option_from_field(field: dataclasses.Field[Any], hint: Any, meaning: str) -> Option:
    default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    return _option_from_hint(field.name, default, hint, meaning)


def _option_from_hint(name: str, default: Any, hint: Any, meaning: str = "") -> Option:
    kinds: list[type] = []
    element: Option | None = None
    choices: list[Any] = []
    bounds = Range()
    optional = False
    waiting = [hint]
    while waiting:
        hint = waiting.pop(0)
        origin = typing.get_origin(hint)
        if origin is Annotated:
            bounds = next((extra for extra in typing.get_args(hint)[1:] if isinstance(extra, Range)), bounds)
            waiting.append(typing.get_args(hint)[0])
        elif origin in (typing.Union, types.UnionType):
            waiting += typing.get_args(hint)
        elif origin is Literal:
            choices += typing.get_args(hint)
        elif hint is type(None):
            optional = True
        elif hint is Any:
            kinds.append(object)
        else:
            kinds.append(origin or hint)
            if origin is tuple and typing.get_args(hint)[1:] == (...,):
                element = _option_from_hint("", dataclasses.MISSING, typing.get_args(hint)[0])
    return Option(name, default, tuple(kinds), tuple(choices), bounds, optional, meaning, element)


def parse_attribute_docs(cls: type) -> dict[str, str]:
    """Parse the descriptions of attributes from the docstrings of a class and its bases."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        _, _, text = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        for name, meaning in re.findall(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |^\S|\Z)", text, re.DOTALL | re.MULTILINE):
            texts[name] = " ".join(meaning.split())
    return texts
