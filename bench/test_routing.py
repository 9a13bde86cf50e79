"""How sets are read and sampled, and how reports become rows. `python3 -m unittest discover bench`"""

import tempfile
import unittest
from pathlib import Path
from typing import Any

from perturb import Query, write_queries
from routing import cells, figures, sampled, sets_of

REPORT: dict[str, Any] = {
    "queries": 8,
    "acc@1": 0.75,
    "recall@5": 0.875,
    "misses": 4,
    "auroc": 0.9,
    "verdicts": {
        "narrow": 5,
        "narrow_right": 3,
        "broad": 2,
        "broad_right": 1,
        "false_miss": 1,
        "true_miss": 2,
        "false_narrow": 1,
        "false_broad": 1,
    },
}


class Reports(unittest.TestCase):
    def test_shares_of_verdicts_come_from_their_counts(self) -> None:
        expected = {
            "acc@1": 0.75,
            "recall@5": 0.875,
            "both@5": None,
            "AUROC": 0.9,
            "narrow coverage": 0.625,
            "narrow precision": 0.5,
            "no match narrow": 0.25,
            "ECE": None,
        }
        self.assertEqual(figures(REPORT), expected)

    def test_a_row_shows_both_programs_and_nothing_where_neither_has_a_figure(self) -> None:
        after = {**REPORT, "acc@1": 0.8, "trust": {"ece": 0.03125}, "several": {"each@5": None}}
        expected = [
            "75.0 → 80.0",
            "87.5 → 87.5",
            "-",
            "0.900 → 0.900",
            "62.5 → 62.5",
            "50.0 → 50.0",
            "25.0 → 25.0",
            "- → 0.031",
        ]
        self.assertEqual(cells(figures(after), figures(REPORT)), expected)


class Sets(unittest.TestCase):
    def test_a_sample_is_the_same_wherever_its_queries_lie(self) -> None:
        queries: list[Query] = [{"query": f"query {at}"} for at in range(50)]
        chosen = sampled(queries, 10, 3)
        self.assertEqual(len(chosen), 10)
        self.assertEqual(list(reversed(sampled(queries[::-1], 10, 3))), chosen)
        self.assertNotEqual(sampled(queries, 10, 4), chosen)
        self.assertEqual(sampled(queries, None, 3), queries)

    def test_queries_with_candidates_are_measured_over_all_and_among_them(self) -> None:
        queries: list[Query] = [
            {"query": "a", "relevant": ["x"], "candidates": ["x", "y"], "part": "p"},
            {"query": "b", "relevant": [], "candidates": ["y"], "part": "p"},
            {"query": "c", "relevant": ["x"], "candidates": ["x"], "part": "q"},
        ]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "tools"
            folder.mkdir()
            write_queries(folder / "queries.jsonl.gz", queries)
            write_queries(folder / "no_match.jsonl", [{"query": "z"}])
            over_all, among = sets_of(folder, ["p"], None, 0)
        self.assertEqual((over_all.name, among.name), ("tools", "tools, candidates"))
        self.assertEqual([query["query"] for query in over_all.queries], ["a"])
        self.assertEqual([query["query"] for query in among.queries], ["a", "b"])
        self.assertEqual(over_all.no_match, [{"query": "z", "relevant": []}])
        self.assertEqual((over_all.among_candidates, among.among_candidates), (False, True))


if __name__ == "__main__":
    unittest.main()
