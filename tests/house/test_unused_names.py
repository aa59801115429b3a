"""No top-level name of the source is for tests alone: each is used there, registered, or documented."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PAGES = [
    *(ROOT / "docs" / "adding").glob("*.md"),
    ROOT / "docs" / "reference.md",
    ROOT / "docs" / "generalised.md",
]
TOLD = " ".join(page.read_text() for page in PAGES)
WORDS = re.compile(
    r"[\w.]+(?:[][,|: ]+[\w.]+)*\]*"
)  # of a name, a dotted name or an annotation, not of prose


class Module:
    """A source file: what it defines, what its imports stand for, and which names its code mentions."""

    def __init__(self, file: Path) -> None:
        self.name = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        self.body = ast.parse(file.read_text()).body
        nodes = [node for statement in self.body for node in ast.walk(statement)]
        self.imported = {  # by its local name: the module that a name comes from, and its name there
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def mentioned(self) -> Iterator[tuple[str, str]]:
        """What statements refer to, as module and name; a definition that refers to itself does not count."""
        for statement in self.body:
            own = names_defined(statement)
            for node in ast.walk(statement):
                for module, name in self.mentions_of(node) if own != ["__all__"] else ():
                    if module != self.name or name not in own:
                        yield module, name

    def mentions_of(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield self.imported.get(node.id, (self.name, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield ".".join(self.imported.get(node.value.id, ("", ""))), node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and WORDS.fullmatch(node.value):
            for word in re.findall(r"\w+", node.value):
                yield self.imported.get(word, ("", word))


def names_defined(node: ast.stmt) -> list[str]:
    """The names that a top-level statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets += [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


MODULES = {module.name: module for module in map(Module, sorted((SOURCE / "tractable").rglob("*.py")))}


@cache
def home_of(module: str, name: str) -> tuple[str, str]:
    """Where a name is defined that a module has imported, perhaps to be imported from there."""
    known = MODULES.get(module)
    if known is None or name in {own for node in known.body for own in names_defined(node)}:
        return module, name
    if name in known.imported:
        return home_of(*known.imported[name])
    stars = [source for local, (source, _) in known.imported.items() if local == "*"]
    return home_of(stars[0], name) if stars else (module, name)


def test_no_name_is_for_tests_alone() -> None:
    mentioned = {home_of(*pair) for module in MODULES.values() for pair in module.mentioned()}
    unused = [
        f"{module.name}.{name}"
        for module in MODULES.values()
        for node in module.body
        for name in names_defined(node)
        if not re.fullmatch("__[a-z]+__", name)
        and not {(module.name, name), ("", name)} & mentioned
        and not re.search(rf"\b{name}\b", TOLD)
    ]
    assert not unused, f"delete, or move to tests/support: {unused}"
