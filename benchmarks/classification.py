"""Classes predicted: log-loss and accuracy by five-fold cross-validation, beside scikit-learn's classifiers.

The probabilities of `TractableClassifier` are exact conditionals of a joint model of all columns. Logistic
regression gets standardised numbers, means for missing ones, and a column of zeros and ones for each state;
the gradient-boosted trees take missing cells and categories as they are.

    python benchmarks/classification.py [--tables penguins,wine,breast-cancer,cars] [--learner fast]
                                        [--set name=value] [--by-class auto] [--folds 5] [--json]
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from ordinary_tables import (
    OrdinaryTable,
    chosen_learner,
    chosen_tables,
    markdown,
    table_options,
)
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import tractable as tr

SMALLEST = 1e-15  # probability that a log-loss takes for zero
BY_CLASS: dict[str, Any] = {"auto": "auto", "yes": True, "no": False}


def logistic_regression(table: OrdinaryTable) -> Any:
    """Scikit-learn's logistic regression behind the usual preparation."""
    numbers, categories = _features(table)
    prepared = make_column_transformer(
        (make_pipeline(StandardScaler(), SimpleImputer()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), categories),
    )
    return make_pipeline(prepared, LogisticRegression(max_iter=5000))


def gradient_boosting(table: OrdinaryTable) -> Any:
    """Scikit-learn's histogram gradient boosting, with categories as such."""
    numbers, categories = _features(table)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    prepared = make_column_transformer((codes, categories), ("passthrough", numbers))
    trees = HistGradientBoostingClassifier(
        categorical_features=list(range(len(categories))) or None, random_state=0
    )
    return make_pipeline(prepared, trees)


def _features(table: OrdinaryTable) -> tuple[list[str], list[str]]:
    return table.numbers, [c for c in table.categories if c != table.target]


def measure(table: OrdinaryTable, make: Callable[[OrdinaryTable], Any], folds: int) -> dict[str, float]:
    """Log-loss with its standard error, accuracy, and the seconds that learning and predicting took."""
    labelled = table.frame[table.frame[table.target].notna()]
    X, y = labelled.drop(columns=table.target), labelled[table.target].astype(str).to_numpy()
    X = X.astype({c: float for c in table.numbers})
    losses, right = np.empty(len(y)), np.empty(len(y), dtype=bool)
    started = time.perf_counter()
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        model = make(table).fit(X.iloc[train], y[train])
        p = model.predict_proba(X.iloc[test])
        states = np.searchsorted(model.classes_, y[test])
        losses[test] = -np.log(np.maximum(p[np.arange(len(test)), states], SMALLEST))
        right[test] = p.argmax(axis=1) == states
    return {
        "log_loss": float(losses.mean()),
        "std_error": float(losses.std(ddof=1) / np.sqrt(len(y))),
        "accuracy": float(right.mean()),
        "seconds": time.perf_counter() - started,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    table_options(parser)
    parser.add_argument("--by-class", default="auto", choices=list(BY_CLASS), help="a model for each class")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    learner, by_class = chosen_learner(options.learner, options.set), BY_CLASS[options.by_class]
    methods: dict[str, Callable[[OrdinaryTable], Any]] = {
        "LogisticRegression": logistic_regression,
        "HistGradientBoosting": gradient_boosting,
        "TractableClassifier": lambda _: tr.TractableClassifier(learner, by_class=by_class, random_state=0),
    }
    facts = {
        table.name: {name: measure(table, make, options.folds) for name, make in methods.items()}
        for table in chosen_tables(options.tables)
    }
    sys.stdout.write((json.dumps(facts) if options.json else report(facts)) + "\n")


def report(facts: dict[str, dict[str, dict[str, float]]]) -> str:
    """A Markdown table: log-loss and accuracy of each method on each table, the best log-loss in bold."""
    names = list(next(iter(facts.values())))
    rows = []
    for table, found in facts.items():
        best = min(one["log_loss"] for one in found.values())
        cells = [table]
        for one in found.values():
            loss = f"{one['log_loss']:.3f}"
            cells += [f"{f'**{loss}**' if one['log_loss'] == best else loss} ± {one['std_error']:.3f}"]
        rows.append([*cells, *(f"{one['accuracy']:.3f}" for one in found.values())])
    head = ["Table", *(f"{name}: log-loss" for name in names), *(f"{name}: accuracy" for name in names)]
    return markdown(head, rows)


if __name__ == "__main__":
    main()
