"""The scikit-learn face of hidden Chow-Liu trees."""

from typing import ClassVar

from tractable.estimators.base import RandomState, TableEstimator
from tractable.learners import LEARNERS, Learner


class HiddenChowLiuTree(TableEstimator):
    """Hidden states along Chow-Liu trees, several of which are mixed, fitted by EM.

    Parameters
    ----------
    states : int or tuple of int
        Numbers of states of the hidden variables to try; the best on validation rows is kept, else the first.
    trees : int
        Trees that are mixed.
    bagged : bool
        Whether each tree is grown on rows drawn with replacement.
    keep : float
        How much of the first weights goes to the state above: hidden copies begin as one mixture.
    batch : int
        Rows at a time in the first passes.
    epochs : int
        Passes over all rows, few at a time.
    steps : int
        Steps of EM on all rows afterwards.
    smoothing : float
        Imaginary rows at each sum and each leaf.
    softness : float
        How often a cell of states counts as a state drawn at random.
    entropy : float
        Rows that the circuit's entropy counts for: few rows are held back more than many.
    patience : int
        Passes without a better score on the validation rows before stopping.
    random_state : int, RandomState or None
        Decides where EM begins and the order of the rows.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["hidden-chow-liu"]

    def __init__(  # noqa: PLR0913
        self,
        *,
        states: int | tuple[int, ...] = (16, 32),
        trees: int = 4,
        bagged: bool = False,
        keep: float = 0.9,
        batch: int = 1024,
        epochs: int = 30,
        steps: int = 20,
        smoothing: float = 0.1,
        softness: float = 0.0,
        entropy: float = 8.0,
        patience: int = 6,
        random_state: RandomState = None,
    ) -> None:
        self.states = states
        self.trees = trees
        self.bagged = bagged
        self.keep = keep
        self.batch = batch
        self.epochs = epochs
        self.steps = steps
        self.smoothing = smoothing
        self.softness = softness
        self.entropy = entropy
        self.patience = patience
        self.random_state = random_state
