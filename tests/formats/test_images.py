"""Columns in a grid, and the pictures of answers about them."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tractable as tr
from tractable.base.arrays import Bytes
from tractable.cli import run
from tractable.cli.reports.images import UNKNOWN, complete_images, images_of, mean_images, save_sheet
from tractable.data import Schema, Table, Variable, digits, grid_of, parse_grid, read_schema, with_grid
from tractable.formats.pictures import png_bytes


def pixels_in(data: bytes) -> Bytes:
    image = pytest.importorskip("matplotlib.image")
    return np.asarray(np.rint(255 * image.imread(io.BytesIO(data), format="png")), dtype=np.uint8)


def image_table(rows: int = 200) -> Table:
    """Images of 2 x 3 binary pixels, all dark or all bright but for some noise, and a class."""
    rng = np.random.default_rng(0)
    bright = rng.random((rows, 1)) < 0.5
    values = np.concatenate([bright ^ (rng.random((rows, 6)) < 0.1), bright], axis=1).astype(np.float64)
    names = [*(f"p{i}" for i in range(6)), "class"]
    schema = Schema(tuple(Variable(name, "categorical", (0, 1)) for name in names))
    return Table(with_grid(schema, (2, 3)), values)


@settings(deadline=None)
@given(arrays.arrays(np.uint8, arrays.array_shapes(min_dims=2, max_dims=2).map(lambda s: (*s, 3))))
def test_a_picture_is_read_as_it_was_written(pixels: Bytes) -> None:
    np.testing.assert_array_equal(pixels_in(png_bytes(pixels)), pixels)


def test_columns_have_places_that_survive_selections_and_files(tmp_path: Path) -> None:
    table = image_table()
    grid = grid_of(table.schema)
    assert grid is not None
    np.testing.assert_array_equal(grid.columns, [[0, 1, 2], [3, 4, 5]])
    assert grid_of(table.schema.select([6])) is None
    part = grid_of(table.schema.select([6, 4, 2]))
    assert part is not None
    np.testing.assert_array_equal(part.columns, [[-1, -1, 2], [-1, 1, -1]])
    circuit = tr.ChowLiuTree().fit(table).circuit_
    for name in ("m.tract", "m.json"):
        circuit.save(tmp_path / name)
        found = grid_of(tr.load(tmp_path / name).schema)
        assert found is not None
        np.testing.assert_array_equal(found.columns, grid.columns)
    assert table.schema == with_grid(table.schema, (3, 2)), "a place is no part of what a column is"


def test_a_damaged_place_is_refused(tmp_path: Path) -> None:
    tr.Independent().fit(image_table()).circuit_.save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert '"place": [1, 2]' in text
    for wrong in ("[1]", "[1, -2]", "[1, 1e9]", '"x"', "[1000000000, 1]"):
        (tmp_path / "n.json").write_text(text.replace("[1, 2]", wrong))
        with pytest.raises(ValueError, match="place of column 'p5'"):
            tr.load(tmp_path / "n.json")


@pytest.mark.parametrize("size", [(2, 4), (0, 0), (8, 1)])
def test_a_grid_needs_as_many_columns_as_cells(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a grid of"):
        with_grid(image_table().schema, size)


@given(st.integers(1, 500), st.integers(1, 500), st.sampled_from("xX×"))
def test_a_grid_is_read_from_text(height: int, width: int, between: str) -> None:
    assert parse_grid(f" {height} {between}{width} ") == (height, width)


def test_text_that_is_no_grid_is_refused() -> None:
    for text in ("8", "8x", "axb", "8x8x8", "-1x3", ""):
        with pytest.raises(ValueError, match="such as 8x8"):
            parse_grid(text)


@pytest.mark.parametrize(
    ("side", "expected"), [("left", [0, 3]), ("right", [2, 5]), ("top", [0, 1, 2]), ("bottom", [3, 4, 5])]
)
def test_halves(side: str, expected: list[int]) -> None:
    grid = grid_of(image_table().schema)
    assert grid is not None
    assert grid.columns[grid.half(side)].tolist() == expected
    with pytest.raises(ValueError, match="a half must be one of"):
        grid.half("middle")


def test_completions_keep_what_is_known_and_agree_with_queries() -> None:
    table = image_table()
    circuit = tr.NaiveBayesMixture(random_state=0).fit(table).circuit_
    found = complete_images(circuit.graph, table.values[:20], "left")
    seen = ~np.isnan(found.evidence)
    assert seen[:, :, 1:].all()
    assert not seen[:, :, 0].any()
    for image in (found.mode, found.mean):
        np.testing.assert_allclose(image[seen], found.original[seen])
    row = {"p1": 1, "p2": 1, "p4": 1, "p5": 0, "class": 1}
    coded = np.array([[np.nan, 1, 1, np.nan, 1, 0, 1]])
    grid = grid_of(table.schema)
    assert grid is not None
    mean = mean_images(circuit.graph, grid, coded)
    assert mean[0, 0, 0] == pytest.approx(circuit.marginals(given=row)["p0"][1])
    mode, average = found.squared_errors()
    assert 0 <= average < 0.25
    assert 0 <= mode <= 1


def test_cells_that_are_not_known_have_a_colour_and_small_images_are_enlarged(tmp_path: Path) -> None:
    image = np.array([[[0.0, np.nan], [0.5, 1.0]]])
    save_sheet(tmp_path / "a.png", [image, image])
    found = pixels_in((tmp_path / "a.png").read_bytes())
    assert found.shape == (32 * 6, 32 * 2, 3)
    assert found[0, 0].tolist() == [0, 0, 0]
    assert found[0, 40].tolist() == list(UNKNOWN)
    assert found[40, 0].tolist() == [128, 128, 128]
    assert found[40, 40].tolist() == [255, 255, 255]


def test_pixels_are_drawn_by_the_numbers_that_their_states_are() -> None:
    schema = Schema(
        (Variable("a", "ordinal", (10, 20)), Variable("b", "real"), Variable("c", states=("x", "y")))
    )
    grid = grid_of(with_grid(schema, (1, 3)))
    assert grid is not None
    found = images_of(schema, grid, np.array([[1.0, 0.5, 1.0], [np.nan, 2.0, 0.0]]))
    np.testing.assert_array_equal(found, [[[20.0, 0.5, 1.0]], [[np.nan, 2.0, 0.0]]])


def test_the_command_line_draws_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = image_table()
    lines = [",".join(table.schema.names), *(",".join(f"{x:g}" for x in row) for row in table.values)]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    assert run(["schema", "t.csv", "--grid", "2x3", "-o", "s.json"]) == 0
    assert json.loads(Path("s.json").read_text())["grid"] == [2, 3]
    assert grid_of(read_schema("s.json")) is not None
    assert run(["learn", "chow-liu", "t.csv", "--grid", "2x3", "-o", "m.tract", "--quiet"]) == 0
    assert run(["learn", "chow-liu", "t.csv", "-o", "plain.tract", "--quiet"]) == 0
    capsys.readouterr()
    for model, more, images in (
        ("m.tract", ["--given", "p0=1, class=0"], 10),
        ("m.tract", ["--rows", "t.csv", "--hide", "top", "--count", "3"], 12),
        ("plain.tract", ["--grid", "2x3", "--count", "0"], 2),
    ):
        assert run(["plot", model, "out.png", *more, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["images"] == images
        assert pixels_in(Path("out.png").read_bytes()).ndim == 3
    for wrong, words in (
        (["plot", "plain.tract", "out.png"], "have no grid"),
        (["plot", "m.tract", "out.svg", "--given", "p0=1"], "drawn as images"),
        (["plot", "m.tract", "out.png", "--given", "p0=1", "--rows", "t.csv"], "cannot be combined"),
        (["learn", "chow-liu", "t.csv", "--grid", "9x9", "-o", "x.tract"], "a grid of 9 x 9"),
        (["learn", "chow-liu", "t.csv", "--grid", "nine", "-o", "x.tract"], "such as 8x8"),
    ):
        assert run([*wrong, "--quiet"]) == 2
        assert words in capsys.readouterr().err


def test_a_schema_file_with_a_wrong_grid_is_refused(tmp_path: Path) -> None:
    for grid in ("[2]", '"2x3"', "[2, 2.5]", "[3, 3]"):
        (tmp_path / "s.json").write_text(f'{{"grid": {grid}, "columns": [{{"name": "a", "kind": "real"}}]}}')
        with pytest.raises(ValueError, match="grid"):
            read_schema(tmp_path / "s.json")


def test_the_built_in_digits_are_images() -> None:
    grid = grid_of(digits().schema)
    assert grid is not None
    assert grid.columns.shape == (8, 8)


def test_the_example_completes_digits(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "faces.py"
    command = [sys.executable, str(example), "-o", str(tmp_path / "faces.png")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    errors = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines()[:4])
    assert float(errors["posterior mean"]) < float(errors["mean of each pixel"])
    assert float(errors["most probable completion"]) < float(errors["mean of each pixel"])
    assert pixels_in((tmp_path / "faces.png").read_bytes()).ndim == 3
