import ast
from pathlib import Path

import numpy as np
import pytest

from tractable import data
from tractable.data import BUILTIN, breast_cancer, clinic, digits


@pytest.mark.parametrize("name", BUILTIN)
def test_a_builtin_table_has_rows_without_missing_cells(name: str) -> None:
    table = BUILTIN[name]()
    assert len(table) > 500
    assert not table.missing.any()


def test_digits_are_pixels_and_a_digit() -> None:
    schema = digits().schema
    assert schema.names[:2] == ("pixel_0_0", "pixel_0_1")
    assert schema.cardinalities.tolist() == [2] * 64 + [10]


def test_breast_cancer_is_mixed() -> None:
    table = breast_cancer()
    assert [v.kind for v in table.schema] == ["real"] * 30 + ["categorical"]
    malignant = table.values[:, 30] == table.schema[30].code("malignant")
    radius = table.values[:, table.schema.column("mean_radius")]
    assert radius[malignant].mean() > radius[~malignant].mean()


def test_the_clinic_follows_its_network() -> None:
    table = clinic(40_000, random_state=3)
    smoker, cancer, ray = (
        table.values[:, table.schema.column(n)] for n in ("smoker", "lung_cancer", "x_ray")
    )
    assert cancer[smoker == 1].mean() > 3 * cancer[smoker == 0].mean()
    assert ray[cancer == 1].mean() == pytest.approx(0.92, abs=0.03)
    assert ray[cancer == 0].mean() == pytest.approx(0.05, abs=0.01)


def test_the_clinic_is_the_same_for_the_same_seed() -> None:
    np.testing.assert_array_equal(clinic(50, 7, missing=0.3).values, clinic(50, 7, missing=0.3).values)
    assert clinic(5000, missing=0.3).missing.mean() == pytest.approx(0.3, abs=0.02)


def test_only_the_kernels_import_a_heavy_library_at_once() -> None:
    heavy = {"pandas", "polars", "sklearn", "pyarrow", "narwhals", "numba", "scipy"}
    for file in Path(data.__path__[0]).glob("*.py"):
        body = ast.parse(file.read_text()).body
        names = [a.name for node in body if isinstance(node, ast.Import) for a in node.names]
        names += [str(node.module) for node in body if isinstance(node, ast.ImportFrom)]
        found = heavy & {name.partition(".")[0] for name in names}
        assert not found or file.name == "kernels.py", f"{file.name} imports {found}"
        assert "tractable.data.kernels" not in names, (
            f"{file.name} imports the kernels before they are needed"
        )
