"""Circuits as pictures: `.svg` drawn here, Graphviz text (`.dot`), and pixels (`.png`)."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from html import escape
from math import exp
from pathlib import Path

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.kernels import heights
from tractable.formats.atomic import write_bytes, write_text
from tractable.formats.document import Document

# ---- short words for the nodes of a picture -------------------------------------------------------------


LONGEST = 28


def node_labels(graph: Graph) -> list[str]:
    """A label for every node: what a leaf says of its column, or the sign of a sum or product."""
    labels = ["" if kind == LEAF else "×" if kind == PRODUCT else "+" for kind in graph.kind.tolist()]
    for block in graph.blocks:
        for node, words in zip(block.node.tolist(), block.describe(graph.schema), strict=True):
            labels[node] = shorten(words)
    return labels


def shorten(text: str) -> str:
    """The text on one line, cut where it is too long for a picture."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


# ---- circuits as Graphviz text (`.dot`) -----------------------------------------------------------------


def write_dot(document: Document, path: Path) -> None:
    """Save a circuit as a graph that Graphviz draws."""
    write_text(path, "\n".join(_lines(document.graph)) + "\n")


def _lines(graph: Graph) -> Iterator[str]:
    yield "digraph circuit {"
    yield '  node [fontname="sans-serif"]; edge [arrowsize=0.6, fontsize=9, fontname="sans-serif"];'
    for node, (label, kind) in enumerate(zip(node_labels(graph), graph.kind.tolist(), strict=True)):
        yield f"  n{node} [label={_quote(label)}, shape={'box' if kind == LEAF else 'circle'}];"
    parents, children = graph.parent.tolist(), graph.child.tolist()
    for parent, child, weight in zip(parents, children, graph.log_weight.tolist(), strict=True):
        label = f' [label="{exp(min(weight, 700)):.3g}"]' if graph.kind[parent] == SUM and weight else ""
        yield f"  n{parent} -> n{child}{label};"
    yield "}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# ---- pictures of pixels as `.png` files; the standard library has all that this takes -------------------


SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BITS, PIXEL_COLOURS = 8, 2  # of each of red, green and blue


def write_png(path: Path, pixels: Bytes) -> None:
    """Save a picture, (height, width, 3) bytes of red, green and blue."""
    write_bytes(path, png_bytes(pixels))


def png_bytes(pixels: Bytes) -> bytes:
    """The content of a .png file."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each begins with its filter, which is none
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, EIGHT_BITS, PIXEL_COLOURS, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")
    return SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# ---- circuits as pictures (`.svg`), drawn here: no other program is needed ------------------------------
#
# A small circuit is drawn node by node, in layers with the root on top. A large one would be a black
# spot, so its picture shows how many sums, products and leaves there are at each height above the leaves.


MOST_NODES = 200  # drawn one by one
MOST_BARS = 40
COLOURS = ("#4c78a8", "#f58518", "#54a24b")  # leaves, products, sums
NAMES = ("leaves", "products", "sums")
LETTER = 6.5  # width of a letter of a label, in pixels


def write_svg(document: Document, path: Path) -> None:
    """Save a picture of a circuit."""
    write_text(path, svg_text(document.graph))


def svg_text(graph: Graph) -> str:
    """A picture of a circuit as the text of a .svg file."""
    return _drawing(graph) if graph.nodes <= MOST_NODES else _summary(graph)


def _heights(graph: Graph) -> Ints:
    height = np.zeros(graph.nodes, dtype=np.int64)
    heights(graph.start, graph.child, height)
    return height


def _picture(width: float, height: float, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
    )
    style = f' height="{height:.0f}" font-family="sans-serif" font-size="11" text-anchor="middle">'
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head + style, ground, *parts, "</svg>"]) + "\n"


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(_printable(words))}</text>'


def _printable(words: str) -> str:
    """The words without control characters, which XML does not allow."""
    return "".join(c if c.isprintable() else "�" for c in words)


def _drawing(graph: Graph) -> str:
    labels = node_labels(graph)
    height = _heights(graph)
    wide = np.array([max(30.0, LETTER * len(label) + 12) for label in labels])
    x = _across(graph, height, wide)
    y = 30.0 + 70.0 * (height.max() - height)
    parts = [_edge(graph, edge, x, y) for edge in range(graph.edges)]
    parts += [_node(int(graph.kind[i]), labels[i], (x[i], y[i]), wide[i]) for i in range(graph.nodes)]
    return _picture(float((x + wide / 2).max() + 20), float(y.max() + 40), parts)


def _across(graph: Graph, height: Ints, wide: Floats) -> Floats:
    """Where each node stands from left to right: below the middle of its parents, as far as there is room."""
    x = np.zeros(graph.nodes)
    parent = graph.parent
    widest = max(wide[height == level].sum() + 20 * (height == level).sum() for level in np.unique(height))
    for level in np.unique(height)[::-1]:
        nodes = np.flatnonzero(height == level)
        above = [x[parent[graph.child == node]] for node in nodes]
        wish = np.array([a.mean() if a.size else widest / 2 for a in above])
        nodes = nodes[np.argsort(wish, kind="stable")]
        gap = (widest - wide[nodes].sum()) / nodes.size
        x[nodes] = 20 + np.cumsum(wide[nodes] + gap) - wide[nodes] / 2 - gap / 2
    return x


def _edge(graph: Graph, edge: int, x: Floats, y: Floats) -> str:
    parent, child = int(graph.parent[edge]), int(graph.child[edge])
    line = (
        f'<line x1="{x[parent]:.1f}" y1="{y[parent]:.1f}" x2="{x[child]:.1f}" y2="{y[child]:.1f}"'
        ' stroke="#999" stroke-width="1"/>'
    )
    weight = float(graph.log_weight[edge])
    if graph.kind[parent] != SUM or weight == 0:
        return line
    # Near the parent, where the edges of one sum are told apart from those of others.
    along = min(0.35, 36 / np.hypot(x[child] - x[parent], y[child] - y[parent]))
    at = x[parent] + along * (x[child] - x[parent]), y[parent] + along * (y[child] - y[parent])
    return line + _text(*at, f"{exp(min(weight, 700)):.3g}", ' font-size="9" fill="#555"')


def _node(kind: int, label: str, at: tuple[float, float], wide: float) -> str:
    x, y = at
    if kind == LEAF:
        shape = f'<rect x="{x - wide / 2:.1f}" y="{y - 11:.1f}" width="{wide:.1f}" height="22" rx="5"'
    else:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="13"'
    return f'{shape} fill="white" stroke="{COLOURS[kind]}" stroke-width="2"/>' + _text(x, y + 4, label)


def _summary(graph: Graph) -> str:
    height = _heights(graph)
    depth = int(height.max())
    bars = min(depth + 1, MOST_BARS)
    bar = height * bars // (depth + 1)
    counts = np.stack([np.bincount(bar[graph.kind == kind], minlength=bars) for kind in range(3)])
    tall = 300.0 / counts.sum(axis=0).max()
    wide = 680.0 / bars
    parts = [_title(graph, depth)]
    for i in range(bars):
        parts += _bar(counts[:, i], 60 + i * wide, max(wide - 2, 1), tall)
        parts.append(_text(60 + (i + 0.5) * wide, 394, str(-(-i * (depth + 1) // bars)), ' font-size="9"'))
    parts.append(_text(400, 415, "height above the leaves (edges)"))
    parts += [_legend(kind, int(counts[kind].sum())) for kind in range(3)]
    return _picture(800, 430, parts)


def _bar(counts: Ints, x: float, wide: float, tall: float) -> Iterator[str]:
    """Leaves, products and sums of one height on top of each other."""
    base = 380.0
    for kind in range(3):
        size = counts[kind] * tall
        base -= size
        shape = (
            f'<rect x="{x:.1f}" y="{base:.1f}" width="{wide:.1f}" height="{size:.1f}" fill="{COLOURS[kind]}">'
        )
        yield f"{shape}<title>{counts[kind]:,} {NAMES[kind]}</title></rect>"


def _title(graph: Graph, depth: int) -> str:
    families = ", ".join(sorted({block.name for block in graph.blocks}))
    words = f"{graph.nodes:,} nodes, {graph.edges:,} edges, depth {depth:,}, {len(graph.schema):,} columns"
    return _text(400, 24, f"{words}; leaves: {families}", ' font-size="14"')


def _legend(kind: int, count: int) -> str:
    x = 130 + 200 * kind
    square = f'<rect x="{x - 16}" y="42" width="12" height="12" fill="{COLOURS[kind]}"/>'
    return square + _text(x, 52, f"{count:,} {NAMES[kind]}", ' text-anchor="start"')
