"""The published tables, measured again: learners on data sets, each run in a process of its own."""

from tractable.cli.benchmark.children import run_all
from tractable.cli.benchmark.comparison import Comparison, compare
from tractable.cli.benchmark.conditional_report import conditional_grids, write_conditional_report
from tractable.cli.benchmark.contestants import (
    conditional_contestants,
    contestants,
    published_conditional_names,
    published_names,
)
from tractable.cli.benchmark.datasets import DataSet, demo, find
from tractable.cli.benchmark.report import grids, relevant_methods, report_place, write_report
from tractable.cli.benchmark.runs import Job, Run, append_result, read_results

__all__ = [
    "Comparison",
    "DataSet",
    "Job",
    "Run",
    "append_result",
    "compare",
    "conditional_contestants",
    "conditional_grids",
    "contestants",
    "demo",
    "find",
    "grids",
    "published_conditional_names",
    "published_names",
    "read_results",
    "relevant_methods",
    "report_place",
    "run_all",
    "write_conditional_report",
    "write_report",
]
