"""The labels that perturbed queries keep, and the texts that they change. `python3 -m unittest discover bench`"""

import gzip
import random
import tempfile
import unittest
from pathlib import Path

import perturb
from perturb import KINDS, OF_ONE, Query, perturbed, read_queries, words, write_queries


def chance(seed: int = 0) -> random.Random:
    return random.Random(seed)


def distance(a: str, b: str) -> int:
    """Damerau and Levenshtein: letters swapped, dropped, added or replaced."""
    rows = [list(range(len(b) + 1))]
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


QUERIES: list[Query] = [
    {"query": "Show the overdue invoices of Hamburg", "relevant": ["invoice"], "part": "x"},
    {"query": "Which trucks need new tyres?", "relevant": ["fleet"]},
    {"query": "Archive the mailbox of ann.lee@example.com", "relevant": ["mail", "invoice"]},
    {"query": "is it on", "relevant": ["status"]},
    {"query": "knit me a scarf", "relevant": []},
    {"query": "peel four onions", "relevant": []},
]


class Typos(unittest.TestCase):
    def test_only_plain_words_of_five_letters_may_be_mistyped(self) -> None:
        text = (
            'Please "check" `restart now` of web-hosts01, parseJson, https://example.com/invoices '
            'and {"state": "ready"} URGENT'
        )
        self.assertEqual([text[start:end] for start, end in words(text)], ["Please", "check"])

    def test_a_typo_is_one_edit_after_the_first_letter(self) -> None:
        for seed in range(300):
            for word in ("tyres", "invoices", "Hamburg", "noon", "aaaaa"):
                new = perturb.mistyped(word, chance(seed))
                self.assertEqual((distance(word, new), new[0]), (1, word[0]), (word, new))

    def test_two_typos_are_in_two_words(self) -> None:
        text = "Show the overdue invoices of Hamburg"
        new = perturb.two_typos(text, chance())
        assert new is not None
        changed = [pair for pair in zip(text.split(), new.split(), strict=True) if pair[0] != pair[1]]
        self.assertEqual([distance(*pair) for pair in changed], [1, 1])

    def test_a_text_without_long_words_is_left_out(self) -> None:
        self.assertIsNone(perturb.one_typo("is it on", chance()))
        self.assertIsNone(perturb.two_typos("the invoices", chance()))


class Wrapped(unittest.TestCase):
    def test_the_text_stays_whole_inside_what_is_pasted_around_it(self) -> None:
        text = "Which trucks {need} new tyres?"
        for seed in range(60):
            pasted, mail = perturb.pasted(text, chance(seed)), perturb.mail(text, chance(seed))
            assert pasted is not None and mail is not None
            self.assertEqual((pasted.count(text), mail.count(text)), (1, 1))
            self.assertFalse(pasted.startswith(text) or pasted.endswith(text), pasted)
            self.assertIn("\n> ", mail)

    def test_upper_case_changes_something(self) -> None:
        self.assertEqual(perturb.upper_case("is it on", chance()), "IS IT ON")
        self.assertIsNone(perturb.upper_case("DB-7", chance()))


class Negated(unittest.TestCase):
    def test_commands_are_forbidden(self) -> None:
        for seed in range(20):
            new = perturb.negated("Please archive the mailbox.", chance(seed))
            assert new is not None
            self.assertRegex(new, r"(?i)(do not|don't) archive the mailbox(, whatever happens)?\.$")

    def test_what_is_no_command_is_left_out(self) -> None:
        for text in ("Which trucks need tyres?", "Test of the pump", "Order is late", "restart", "I need a list"):
            self.assertIsNone(perturb.negated(text, chance()), text)


class Two(unittest.TestCase):
    def test_requests_keep_what_answers_each_of_them(self) -> None:
        for made in perturbed(QUERIES, "two"):
            if made["relevant"]:
                first, second = made["requests"]
                self.assertEqual(made["relevant"], first + second)
                self.assertFalse(set(first) & set(second))
            else:
                self.assertNotIn("requests", made)
            self.assertEqual(made["part"], "two")

    def test_what_something_answers_is_not_joined_to_what_nothing_answers(self) -> None:
        made = [query for query in perturbed(QUERIES, "two") if not query["relevant"]]
        self.assertEqual(len(made), 2)
        for query in made:
            self.assertTrue("scarf" in query["query"] and "onions" in query["query"], query)

    def test_candidates_are_put_together_and_their_misses_left_out(self) -> None:
        queries: list[Query] = [
            {"query": "weigh the parcel", "relevant": ["a"], "candidates": ["a", "b"]},
            {"query": "call a taxi", "relevant": ["c"], "candidates": ["b", "c"]},
            {"query": "sing a song", "relevant": [], "candidates": ["b"]},
        ]
        made = perturbed(queries, "two")
        self.assertEqual([query["relevant"] for query in made], [["a", "c"], ["c", "a"]])
        self.assertEqual([query["candidates"] for query in made], [["a", "b", "c"], ["b", "c", "a"]])

    def test_the_second_request_loses_the_capital_of_its_opening(self) -> None:
        self.assertEqual(perturb.lowered("Which trucks"), "which trucks")
        self.assertEqual(perturb.lowered("Hamburg's trucks"), "Hamburg's trucks")
        self.assertEqual(perturb.lowered("I need a truck"), "I need a truck")


class Everything(unittest.TestCase):
    def test_the_same_seed_gives_the_same_and_another_seed_another(self) -> None:
        for kind in KINDS:
            self.assertEqual(perturbed(QUERIES, kind, 7), perturbed(QUERIES, kind, 7))
        self.assertNotEqual(perturbed(QUERIES, "typo", 7), perturbed(QUERIES, "typo", 8))

    def test_a_query_does_not_depend_on_the_others(self) -> None:
        for kind in OF_ONE:
            alone = [made for query in QUERIES for made in perturbed([query], kind)]
            self.assertEqual(alone, perturbed(QUERIES, kind))

    def test_labels_and_other_fields_stay(self) -> None:
        for kind in OF_ONE:
            for made in perturbed(QUERIES[:1], kind):
                self.assertEqual({**made, "query": ""}, {**QUERIES[0], "query": ""})

    def test_files_are_read_as_they_were_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("queries.jsonl", "queries.jsonl.gz"):
                path = Path(folder) / name
                write_queries(path, QUERIES)
                self.assertEqual(read_queries(path), QUERIES)
            self.assertEqual(len(gzip.decompress(path.read_bytes()).splitlines()), len(QUERIES))


if __name__ == "__main__":
    unittest.main()
