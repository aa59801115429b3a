"""Estimator classes generated from the settings that learners declare.

scikit-learn reads the parameters of an estimator from the signature of its constructor, and users from its
docstring; both are generated from the declarations.
"""

from functools import cache
from inspect import Parameter, Signature, cleandoc
from textwrap import wrap
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from tractable.base.settings import Setting, settings_of
from tractable.estimators.base import RandomState, TableEstimator
from tractable.estimators.conditional import ConditionalEstimator
from tractable.learning.conditional import ConditionalLearner
from tractable.learning.joint import Learner
from tractable.learning.learner import CircuitLearner

RANDOM_STATE = "Seed of the random number generator. Deterministic learners ignore it."
UNSEEN = (
    "Treatment of states that do not occur in the training rows: with 'share' they have a small reserved"
    " probability in the score of a row, with 'error' they are an error."
)
WIDTH = 100  # characters of a line of a docstring


@cache
def estimator_class(name: str, learner: type[Learner]) -> type[TableEstimator]:
    """The scikit-learn estimator of a joint learner; repeated calls return one class."""
    estimator: type[TableEstimator] = _make_class(name, learner, TableEstimator)
    return estimator


@cache
def conditional_estimator_class(name: str, learner: type[ConditionalLearner]) -> type[ConditionalEstimator]:
    """The scikit-learn estimator of a conditional learner; repeated calls return one class."""
    estimator: type[ConditionalEstimator] = _make_class(name, learner, ConditionalEstimator)
    return estimator


def _make_class(name: str, learner: type[CircuitLearner], base: type) -> Any:
    settings = settings_of(learner)
    members = {
        "__module__": "tractable.estimators",  # where pickle finds it
        "__doc__": _docstring(learner, settings),
        "__init__": _constructor(settings),
        "_learner": learner,
    }
    return type(name, (base,), members)


def _constructor(settings: tuple[Setting, ...]) -> Any:
    """A constructor that stores each setting under its name, as scikit-learn requires."""
    keyword = Parameter.KEYWORD_ONLY
    parameters = [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        *(Parameter(s.name, keyword, default=s.default, annotation=s.type) for s in settings),
        Parameter("unseen", keyword, default="share", annotation=str),
        Parameter("random_state", keyword, default=None, annotation=RandomState),
    ]
    signature = Signature(parameters)

    def __init__(*arguments: Any, **given: Any) -> None:  # noqa: N807 - it becomes a method
        bound = signature.bind(*arguments, **given)
        bound.apply_defaults()
        self, *_ = bound.args
        for name, value in bound.kwargs.items():
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _docstring(learner: type[CircuitLearner], settings: tuple[Setting, ...]) -> str:
    """The documentation in numpydoc format."""
    lines = [cleandoc(learner.__doc__ or ""), "", "Parameters", "----------"]
    for one in settings:
        lines += [f"{one.name} : {type_name(one.type)}, default {one.default!r}", *_indent(one.text)]
    lines += ["unseen : {'share', 'error'}, default 'share'", *_indent(UNSEEN)]
    lines += ["random_state : int, RandomState or None", *_indent(RANDOM_STATE)]
    lines += ["", "Attributes", "----------", "circuit_ : Circuit", *_indent("The learned model.")]
    lines += ["schema_ : Schema", *_indent("The columns, their kinds and states.")]
    for extra, text in learner.extra_texts.items():
        lines += [f"{extra}_", *_indent(text)]
    return "\n".join(lines)


def _indent(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


def type_name(kind: Any) -> str:
    """A type in numpydoc format: `float`, `int or None`, `{'em', 'k-means'}`, `int or tuple of int`."""
    arguments = get_args(kind)
    if get_origin(kind) is Literal:
        return "{" + ", ".join(map(repr, arguments)) + "}"
    if get_origin(kind) is tuple:
        return f"{arguments[0].__name__} or tuple of {arguments[0].__name__}"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join("None" if one is type(None) else type_name(one) for one in arguments)
    return str(kind.__name__)
