"""Damaged tables, strange questions and huge numbers are told in one line, or answered."""

import bz2
import datetime
import gzip
import json
import lzma
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tractable as tr
from tractable.circuit import Builder
from tractable.cli import run
from tractable.data import Schema, Variable, parse_conditions, parse_question, read, read_schema
from tractable.data.dates import moment_of
from tractable.learning.tuning.journal import Journal
from tractable.model import Circuit

ROWS = b"n,c\n" + b"".join(b"%d,%s\n" % (i * 7 % 40, b"ab"[i % 2 : i % 2 + 1]) for i in range(400))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


PACKED = gzip.compress(ROWS)
TABLES = {
    "flipped.csv.gz": flipped(PACKED, 60),
    "end.csv.gz": flipped(PACKED, len(PACKED) - 6),
    "cut.csv.gz": PACKED[:100],
    "head.csv.gz": PACKED[:5],
    "noise.csv.gz": b"\x00\x01\x02" * 50,
    "inside.csv.gz": gzip.compress(bytes(range(256)) * 3),
    "plain.csv.gz": ROWS,
    "nothing.csv.gz": b"",
    "flipped.data.gz": flipped(gzip.compress(b"0,1\n1,0\n" * 200), 20),
    "cut.data.gz": gzip.compress(b"0,1\n1,0\n" * 200)[:20],
    "cut.jsonl.gz": gzip.compress(b'{"a": 1}\n' * 200)[:20],
    "cut.parquet.gz": PACKED[:100],
    "cut.csv.bz2": bz2.compress(ROWS)[:60],
    "cut.csv.xz": lzma.compress(ROWS)[:60],
    "t.csv.zst": b"(\xb5/\xfd and so on",
    "bar.data": b"1,|x",
    "bars.data": b"1,|\n",
    "cell.data": b"1,1|0,x\n",
    "two.data": b"1||0,1\n",
    "weight.data": b"0,1|0,1\n",
    "byte.data": b"1\xff|0,1\n",
    "infinite.data": b"inf|0,1\n",
    "nan.data": b"nan|0,1\n",
    "below.data": b"-1|0,1\n",
    "nul.data": b"0,1\x00\n",
    "huge.data": b"9" * 400 + b",1\n",
    "header.csv": b"a" * 200_000 + b",b\n1,2\n",
    "huge.jsonl": b'{"a": ' + b"9" * 500 + b'}\n{"a": 1}\n',
    "exponent.jsonl": b'{"a": 1e999}\n{"a": 1}\n',
    "deep.jsonl": b'{"a": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_damaged_table_is_refused_in_one_line_that_names_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(TABLES[name])
    assert run(["learn", "independent", str(path), "-o", str(tmp_path / "m.tract")]) == 2
    out, err = capsys.readouterr()
    refused = [line for line in err.splitlines() if not line.startswith("tractable: warning: ")]
    assert (out, len(refused)) == ("", 1)
    assert name in refused[0]
    assert "codec" not in err
    with pytest.raises(ValueError, match=name):
        read(path)


def test_a_gzipped_table_may_have_its_suffix_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "T.DATA.GZ").write_bytes(gzip.compress(b"2|0,1\n1|1,0\n"))
    table = read(tmp_path / "T.DATA.GZ")
    assert table.values.tolist() == [[0, 1], [1, 0]]
    assert table.row_weights.tolist() == [2, 1]


SCHEMAS = {
    "deep": ("[" * 100_000, "nested too deeply"),
    "surrogate": (
        '{"columns": [{"name": "a", "kind": "categorical", "states": ["\\ud800", "b"]}]}',
        "surrogate",
    ),
    "infinite": ('{"columns": [{"name": "a", "kind": "categorical", "states": [1e999, 1]}]}', "finite"),
    "nan": ('{"columns": [{"name": "a", "kind": "categorical", "states": [NaN, 1]}]}', "finite"),
    "digits": (
        '{"columns": [{"name": "a", "kind": "categorical", "states": [' + "9" * 5000 + "]}]}",
        "well formed",
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_damaged_schema_is_refused_in_one_line_that_names_it(name: str, tmp_path: Path) -> None:
    text, fault = SCHEMAS[name]
    path = tmp_path / f"{name}.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=fault) as caught:
        read_schema(path)
    assert str(caught.value).startswith(f"{path}: ")


STUDY = {
    "algorithm": "a",
    "settings": {},
    "space": {},
    "sampler": "random",
    "seed": 0,
    "train": "t",
    "valid": "v",
}
TRIAL = {
    "number": 0,
    "settings": {},
    "score": -1.5,
    "seconds": 0.1,
    "edges": 7,
    "finished": True,
    "fault": "",
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"score": 10**400},
        {"score": "high"},
        {"score": math.nan},
        {"settings": []},
        {"seconds": None},
        {"seconds": 10**400},
        {"number": "x"},
        {"fault": 3},
    ],
)
def test_a_trial_that_is_none_is_told_with_its_line(wrong: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "study"
    lines = [{"format": "tractable study 1", **STUDY}, TRIAL, {**TRIAL, **wrong}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ValueError, match="study', line 3: this is not a trial"):
        Journal(path, STUDY)


def test_arrow_files_that_lie_about_themselves_do_not_crash(tmp_path: Path) -> None:
    """Offsets of text beyond its end; pyarrow reads such a file without a word."""
    from pyarrow import feather, table

    path = tmp_path / "t.feather"
    feather.write_feather(table({"a": ["abc", "def"] * 8}), str(path), compression="uncompressed")
    whole = path.read_bytes()
    offsets = np.arange(0, 51, 3, dtype=np.int32)[:17].tobytes()
    assert offsets in whole
    path.write_bytes(whole.replace(offsets, offsets[:-4] + np.int32(10**9).tobytes()))
    with pytest.raises(ValueError, match=r"t\.feather"):
        read(path)


@pytest.fixture(scope="module")
def model() -> Circuit:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "n": rng.integers(0, 400, 300),
            "k": rng.poisson(5.0, 300),
            "w": rng.normal(size=300),
            "d": pd.date_range("2020-01-01", periods=300),
            "c": rng.choice(["a", "b"], 300),
        }
    )
    found: Circuit = tr.Independent(random_state=0).fit(frame, kinds={"n": "integer", "k": "count"}).circuit_
    return found


@pytest.mark.parametrize("column", ["n", "k", "w", "d"])
def test_infinite_bounds_leave_everything_or_nothing(model: Circuit, column: str) -> None:
    everything = [
        f"{column}<inf",
        f"{column}<=1e400",
        f"{column}>-inf",
        f"{column}>=-1e400",
        f"{column}=[-inf, inf]",
    ]
    nothing = [f"{column}>inf", f"{column}>1e400", f"{column}<-inf", f"{column}<-1e400"]
    for text in everything:
        assert model.prob(text) == pytest.approx(1.0), text
    for text in nothing:
        assert model.prob(text) == 0.0, text
    for bounds in ((-math.inf, math.inf), (None, math.inf), (-(10**400), 10**400), slice(-math.inf, None)):
        assert model.prob({column: bounds}) == pytest.approx(1.0), bounds
    for none in ((math.inf, math.inf), (10**400, None), slice(None, -(10**400))):
        assert model.prob({column: none}) == 0.0, none
    for bad in (math.inf, -math.inf, 10**400, (math.inf, 0), (math.nan, 1), (0, math.nan), {math.nan}):
        with pytest.raises(ValueError, match=f"'{column}'"):
            model.prob({column: bad})
    for ask in (model.marginals, model.mpe, lambda given: model.sample(2, given)):
        ask(f"{column}<inf")
        with pytest.raises(ValueError, match="probability zero"):
            ask(f"{column}>1e400")


STRANGE = [
    "P(c=\ue000)",
    "P(c=\ue0000\ue001)",
    "P(\ue0000\ue001=a)",
    "P(c='a', n>\ue0005\ue001)",
    "P(c=a | \ue0001\ue001=b)",
    "P(c=\ud800)",
    "P(\x00=\x00)",
    "P(c='" + "\ue000\ue001" * 9 + "')",
    "P(c=" + "".join(map(chr, range(0xE000, 0xF900))) + ")",
    "P(" + "(" * 5000 + ")",
    "P(n=1" + "0" * 5000 + ")",
    "P(d>9999-99-99)",
    "P(c>inf)",
    "P(n=inf)",
    "P(n>nan)",
]


@pytest.mark.parametrize("question", STRANGE)
def test_a_strange_question_is_refused_in_one_short_line(
    question: str, model: Circuit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.save(tmp_path / "m.tract")
    assert run(["query", str(tmp_path / "m.tract"), question]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert len(err) < 3000
    with pytest.raises(ValueError, match=r"."):
        parse_question(question, model.schema)


def test_characters_of_private_use_are_characters_like_others() -> None:
    states = ("\ue000", "\ue0000\ue001", "a, b")
    schema = Schema((Variable("\ue001x", "categorical", states),))
    for code, state in enumerate(states):
        for text in (f"\ue001x='{state}'", f'"\ue001x"="{state}"'):
            assert parse_conditions(text, schema).row.tolist() == [code]
    assert parse_conditions("\ue001x=\ue0000\ue001", schema).row.tolist() == [1]


def test_a_date_in_any_zone_is_a_moment() -> None:
    assert moment_of("0001-01-01T00:00+14:00") == pytest.approx(-62135596800.0 - 14 * 3600)
    assert moment_of("9999-12-31T23:00-05:00") is not None
    zone = datetime.timezone(datetime.timedelta(hours=2))
    assert moment_of(datetime.datetime(1970, 1, 1, 3, tzinfo=zone)) == 3600.0


@pytest.mark.parametrize("suffix", [".tract", ".json"])
def test_states_that_are_half_a_surrogate_pair_are_saved_and_read(suffix: str, tmp_path: Path) -> None:
    builder = Builder(Schema((Variable("a\udcff", "categorical", ("\ud800", "b")),)))
    builder.leaf("bernoulli", 0, [0.4])
    circuit = Circuit(builder.freeze(), {"note": "\udc80"})
    circuit.save(tmp_path / f"m{suffix}")
    found = tr.load(tmp_path / f"m{suffix}")
    assert (found.schema, found.about) == (circuit.schema, circuit.about)
    assert found.prob({"a\udcff": "\ud800"}) == circuit.prob({"a\udcff": "\ud800"})
