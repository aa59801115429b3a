"""Random command lines: an answer or a mistake in one line, never a traceback."""

import json
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from fuzz.cases import Case
from fuzz.mutations import damage
from tractable.cli import run

TABLE = "n,c,w,d\n" + "".join(
    f"{i % 7},{'ab'[i % 2]},{i / 3:.4f},2020-01-{i % 28 + 1:02d}\n" for i in range(60)
)
FILES = (
    "t.csv",
    "u.csv",
    "t.data",
    "m.tract",
    "m.json",
    "b.tract",
    "b.mn",
    "s.json",
    "new.tract",
    "new.csv",
    "none.csv",
)
LEARNERS = ("independent", "chow-liu", "naive-bayes", "acbn", "gssl", "nobody")
COLUMNS = ("n", "c", "w", "d", "x0", "x1", "zz", "", "n,c", "ü")
NUMBERS = (
    "0",
    "1",
    "3",
    "-1",
    "1e3",
    "inf",
    "nan",
    "1e400",
    "9" * 30,
    "0.5",
    "x",
    "",
    "2020-01-05",
    "2020-13-40",
)
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", " in ", "==", "")
PLACES = (
    "new.tract",
    "new.json",
    "new.csv",
    "new.svg",
    "new.spn",
    "new.mn",
    "no/new.tract",
    "-",
    "t.csv",
    ".",
    "new.xyz",
)
SETTINGS = (
    "smoothing=1",
    "smoothing=nan",
    "smoothing=-1",
    "smoothing=1e400",
    "clusters=2",
    "x",
    "=",
    "smoothing=",
)
JUNK = (
    "--json",
    "-q",
    "--help",
    "--nonsense",
    "",
    "-",
    "--",
    "\x00",
    "\ue000",
    "\udcff",
    "'",
    "%s",
    "../..",
    "ü",
)
COMMANDS = {
    "learners": ["ALGORITHM?"],
    "schema": ["FILE", "-o? PLACE", "--kinds? COLUMN=KIND", "--drop? COLUMN", "--sep? SEP", "--na? WORD"],
    "learn": [
        *("ALGORITHM", "FILE", "-o PLACE", "--set? SETTING", "--valid? FILE", "--weight? COLUMN"),
        *("--seed? NUMBER", "--budget? TIME", "--resume?", "--schema? FILE", "--unseen? UNSEEN"),
        "--parts? PART",
    ],
    "parameters": ["MODEL", "FILE", "-o PLACE", "--method? METHOD", "--set? iterations=3", "--plot? PLACE"],
    "tune": [
        *("ALGORITHM", "FILE", "--valid FILE", "--trials 1", "-o PLACE", "--storage? STUDY"),
        "--sampler? random",
    ],
    "stack": [
        *("MODEL", "MODEL?", "--valid FILE", "-o PLACE", "--train? FILE", "--max-edges? NUMBER"),
        "--pseudo-count? NUMBER",
    ],
    "score": ["MODEL", "FILE", "--given? COLUMN", "--per-row?", "--per-column?", "--weight? COLUMN"],
    "query": ["MODEL", "QUESTION", "QUESTION?", "--approximate??", "--samples? 20"],
    "marginals": ["MODEL", "--given? CONDITIONS", "--approximate??", "--samples? 20"],
    "mpe": ["MODEL", "--given? CONDITIONS", "--columns? COLUMN", "--method? MPE"],
    "sample": ["MODEL", "COUNT", "--given? CONDITIONS", "--seed? NUMBER", "-o? PLACE"],
    "impute": ["MODEL", "FILE", "--method? FILLING", "-o? PLACE"],
    "classify": ["MODEL", "FILE", "--target COLUMN", "--proba?", "-o? PLACE"],
    "info": ["MODEL", "--features?"],
    "check": ["MODEL"],
    "convert": ["MODEL", "PLACE"],
    "plot": ["MODEL", "PLACE"],
    "bench": ["--show", "--results PLACE", "--against? WORD", "--report? PLACE"],
    "completion": ["WORD"],
}  # fmt: skip
WORDS = {
    "ALGORITHM": LEARNERS,
    "FILE": FILES,
    "MODEL": ("m.tract", "m.tract", "m.json", "b.tract", "b.mn", *FILES),
    "PLACE": PLACES,
    "COLUMN": COLUMNS,
    "KIND": ("real", "count", "categorical", "integer", "ordinal", "date", "wood"),
    "SEP": (",", ";", "tab", "ab", "\n", ""),
    "SETTING": SETTINGS,
    "NUMBER": ("0", "1", "-1", "9" * 30, "x", "1.5"),
    "COUNT": ("0", "1", "20", "-1", "x", "1e3", "9" * 30),
    "TIME": ("1s", "0.5s", "0s", "inf", "nan", "1e400s", "-1s", "x", "1h"),
    "UNSEEN": ("share", "error", "x"),
    "PART": ("d=month", "d=x", "c=year", "d"),
    "METHOD": ("cccp", "hard-em", "closed-form", "online-em", "x"),
    "MPE": ("auto", "max-product", "search", "exact", "x"),
    "FILLING": ("mpe", "mean", "sample", "x"),
    "STUDY": ("study", "new.tract", "t.csv", "."),
    "WORD": ("bash", "zsh", "idspn", "x", "-", "ü"),
}

GOOD = {  # which are taken more often, so that commands get to their work
    "ALGORITHM": ("independent", "chow-liu", "naive-bayes"),
    "FILE": ("t.csv", "t.csv", "u.csv"),
    "MODEL": ("m.tract", "m.json"),
    "COLUMN": ("n", "c", "c", "c", "w", "d"),
    "KIND": ("real", "integer"),
    "SEP": (",",),
    "SETTING": ("smoothing=1", "smoothing=0.5"),
    "NUMBER": ("0", "1"),
    "COUNT": ("0", "1", "20"),
    "TIME": ("1s", "0.5s"),
    "UNSEEN": ("share", "error"),
    "PART": ("d=month",),
    "METHOD": ("cccp", "hard-em", "closed-form", "online-em"),
    "MPE": ("auto", "max-product", "search", "exact"),
    "FILLING": ("mpe", "mean", "sample"),
}
GOOD_PLACES = {
    "schema": ("new.json", "-"),
    "learn": ("new.tract", "new.json"),
    "parameters": ("new.tract",),
    "tune": ("new.tract",),
    "stack": ("new.tract", "new.json"),
    "sample": ("new.csv", "new.parquet", "-"),
    "impute": ("new.csv", "-"),
    "classify": ("new.csv", "-"),
    "convert": ("new.json", "new.tract", "new.spn", "new.svg", "new.dot", "-"),
    "plot": ("new.svg", "new.dot", "-"),
    "bench": ("new.jsonl", "page.md"),
}


def _asks_for_json(arguments: list[str]) -> bool:
    """Whether `--json` is there, and not as the value of an option before it."""
    valued = {part.split()[0].rstrip("?") for parts in COMMANDS.values() for part in parts if " " in part}
    pairs = zip(["", *arguments], arguments, strict=False)
    return any(here == "--json" and before not in valued for before, here in pairs)


def run_commands(case: Case) -> str:
    """One command line in a folder with tables and models."""
    _fill(case.folder)
    command = str(case.rng.choice(list(COMMANDS)))
    arguments = _arguments(case.rng, command)
    (case.folder / "command.txt").write_text(repr(arguments), encoding="utf-8")
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        code = run(arguments)
    assert code in (0, 1, 2), f"exit code {code}"
    assert "Traceback" not in err.getvalue()
    if code == 2:
        told = [line for line in err.getvalue().splitlines() if "warning: " not in line]
        assert len(told) == 1, f"not one line: {told}"
        assert told[0].startswith("tractable: "), told
        assert "codec can't" not in told[0], told
    elif _asks_for_json(arguments) and "--help" not in arguments:
        json.loads(out.getvalue(), parse_constant=_refuse_constant)
    left = [file.name for file in case.folder.rglob("*.part")]
    assert not left, f"half-written files are left: {left}"
    return f"{command} {code}"


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _arguments(rng: np.random.Generator, command: str) -> list[str]:
    words: list[str] = []
    for pattern in COMMANDS[command]:
        if rng.random() < (0.0, 0.75, 0.93)[pattern.count("?")]:
            continue
        words += [_word(rng, part, command) for part in pattern.replace("?", "").split()]
    if rng.random() < 0.3:
        words.append("--json")
    if rng.random() < 0.15:
        words.insert(int(rng.integers(len(words) + 1)), str(rng.choice(JUNK)))
    if rng.random() < 0.05 and words:
        words.pop(int(rng.integers(len(words))))
    return [command, *words]


def _word(rng: np.random.Generator, part: str, command: str) -> str:
    if part == "CONDITIONS":
        return ", ".join(_condition(rng) for _ in range(rng.integers(0, 3)))
    if part == "QUESTION":
        return _question(rng)
    if "=" in part and part.partition("=")[0] in WORDS:
        return "=".join(_word(rng, one, command) for one in part.split("="))
    good = GOOD_PLACES.get(command, ()) if part == "PLACE" else GOOD.get(part, ())
    if good and rng.random() < 0.8:
        return str(rng.choice(good))
    return str(rng.choice(WORDS[part])) if part in WORDS else part


def _question(rng: np.random.Generator) -> str:
    asked = ", ".join(_condition(rng) for _ in range(rng.integers(1, 3)))
    given = f" | {_condition(rng)}" if rng.random() < 0.4 else ""
    question = f"P({asked}{given})"
    return (
        damage(rng, question.encode()).decode("utf-8", "surrogateescape") if rng.random() < 0.2 else question
    )


def _condition(rng: np.random.Generator) -> str:
    column = rng.choice(COLUMNS[:4] if rng.random() < 0.9 else COLUMNS)
    usual = ("=", "!=", " in ") if column == "c" else ("=", "<", "<=", ">", ">=")
    operator = rng.choice(usual if rng.random() < 0.85 else OPERATORS)
    values = (
        ("a", "b", "'a'", '"b"') if column == "c" else ("2020-01-05",) if column == "d" else ("0", "1", "3")
    )
    value = str(rng.choice(values if rng.random() < 0.7 else NUMBERS))
    if operator == " in " or rng.random() < 0.2:
        other = rng.choice(values if rng.random() < 0.7 else NUMBERS)
        shapes = ["[{}, {}]", "{{{}, {}}}"] if rng.random() < 0.8 else ["[{},{}", "({}, {})"]
        value = str(rng.choice(shapes)).format(value, other)
    return f"{column}{operator}{value}"


@cache
def _good_folder() -> Path:
    """A folder with good tables and models, made once."""
    folder = Path(mkdtemp(prefix="fuzz-good-"))
    (folder / "t.csv").write_text(TABLE)
    (folder / "u.csv").write_text(TABLE.replace(",a,", ",z,", 2).replace("3,b,", ",b,"))
    (folder / "t.data").write_text("0,1\n1,1\n0,0\n1,0\n" * 5)
    calls = [
        ["learn", "independent", "t.csv", "-o", "m.tract", "--kinds", "n=count,w=real"],
        ["convert", "m.tract", "m.json"],
        ["learn", "chow-liu", "t.data", "-o", "b.tract"],
        ["learn", "gssl", "t.data", "-o", "b.mn"],
        ["schema", "t.csv", "-o", "s.json"],
    ]
    names = {path.name for path in folder.iterdir()} | {"m.tract", "m.json", "b.tract", "b.mn", "s.json"}
    for call in calls:
        words = [str(folder / word) if word in names else word for word in call]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            assert run([*words, "-q"]) == 0
    return folder


def _fill(folder: Path) -> None:
    for file in _good_folder().iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
