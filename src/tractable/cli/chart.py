"""A chart of how evidence changes posterior probabilities, drawn with matplotlib."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tractable.model import Circuit

STEPS = (
    ("nothing known", ""),
    ("smokes", "smoker=yes"),
    ("and coughs heavily", "smoker=yes, cough=heavy"),
    ("and has a shadow on the X-ray", "smoker=yes, cough=heavy, x_ray=shadow"),
)
SHOWN = (("lung_cancer", "#c44e52"), ("bronchitis", "#4c78a8"))


def save_chart(circuit: "Circuit", path: Path) -> None:
    """Save a chart of the posteriors of two diseases of a clinic visitor as evidence accumulates."""
    from matplotlib.figure import Figure

    from tractable.formats.atomic import write_bytes

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    beliefs = [circuit.marginals(given) for _, given in STEPS]
    for shift, (column, colour) in zip((-0.2, 0.2), SHOWN, strict=True):
        places = [number + shift for number in range(len(STEPS))]
        bars = axes.barh(places, [belief[column]["yes"] for belief in beliefs], 0.38, color=colour)
        bars.set_label(column.replace("_", " "))
        axes.bar_label(bars, fmt="{:.1%}", padding=3)
    axes.set_yticks(range(len(STEPS)), [words for words, _ in STEPS])
    axes.set(xlim=(0, 1.1), xlabel="probability")
    axes.invert_yaxis()
    axes.legend(frameon=False)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    write_bytes(path, buffer.getvalue())
