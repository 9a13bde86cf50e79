"""The rule of three words, the names of operations, and the questions. `python3 -m unittest discover bench`"""

import unittest

from operations import (
    DOCUMENTS,
    QUESTIONS,
    SETS,
    Answer,
    Measured,
    Operation,
    Question,
    first_sentence,
    problems,
    questions_of,
    shown,
    snake,
)

LISTED = Operation("getTasksForUser", "Get a user's tasks", "Returns every open task of one user. Needs a token.")


def problems_of(query: str) -> list[str]:
    return problems([Question(query, ["getTasksForUser"])], {"getTasksForUser": LISTED})


class Rule(unittest.TestCase):
    def test_a_run_of_three_words_of_summary_id_or_first_sentence_is_refused(self) -> None:
        for query, run in (
            ("please GET a users list", "get a users"),
            ("get tasks for me", "get tasks for"),
            ("show every open task", "every open task"),
        ):
            self.assertEqual(problems_of(query), [f"`{query}` shares `{run}` with `getTasksForUser`"])

    def test_two_words_and_later_sentences_are_allowed(self) -> None:
        self.assertEqual(problems_of("which open task needs a token"), [])

    def test_a_question_names_operations_of_the_document_and_is_asked_once(self) -> None:
        questions = [Question("what is open", ["getTask"]), Question("what is open", [])]
        self.assertEqual(
            problems(questions, {}),
            [
                "`what is open`: the document has no operation `getTask`",
                "`what is open` is there twice",
                "`what is open` names no operation",
            ],
        )


class Texts(unittest.TestCase):
    def test_names_are_those_of_an_import(self) -> None:
        for name, expected in (
            ("getHTTPStatus", "get_http_status"),
            ("get-an-album", "get_an_album"),
            ("getLKEVersions", "get_lke_versions"),
        ):
            self.assertEqual(snake(name), expected)

    def test_a_sentence_ends_before_a_space(self) -> None:
        self.assertEqual(first_sentence("Lists v1.2\n tasks. And more."), "Lists v1.2 tasks.")

    def test_the_place_is_that_of_the_first_right_one(self) -> None:
        question = Question("what is open", ["a", "b"])
        self.assertEqual(Answer(question, ["x.a", "x.b"], ["x.c", "x.b", "x.a"]).place, 2)
        self.assertIsNone(Answer(question, ["x.a"], ["x.c"]).place)


class Tables(unittest.TestCase):
    def test_each_set_has_a_table_under_its_name(self) -> None:
        found = Answer(Question("what is open", ["a"]), ["x.a"], ["x.b", "x.a"])
        missed = Answer(Question("what is done", ["c"]), ["x.c"], ["x.b"])
        results = [Measured("x", "own-nouns", 3, [found, missed], [found, missed], [missed, missed])]
        self.assertEqual(
            shown("own-nouns", results, with_misses=True).splitlines(),
            [
                "Asked in the service's own nouns:",
                "",
                "| document | operations | questions | acc@1 | within 5 | offered | offered as request |",
                "|----------|------------|-----------|-------|----------|---------|--------------------|",
                "| x        | 3          | 2         | 0.000 | 0.500    | 0.500   | 0.000              |",
                "| all      | 3          | 2         | 0.000 | 0.500    | 0.500   | 0.000              |",
                "",
                "x: what is done",
                "    x.c: not among the first 50",
                "    found: x.b",
            ],
        )
        self.assertTrue(shown("other-words", results, with_misses=False).startswith("Asked in other words:\n"))


class Questions(unittest.TestCase):
    def test_each_set_has_two_hundred_about_three_documents(self) -> None:
        self.assertEqual((len(DOCUMENTS), len(SETS)), (3, 2))
        for question_set in SETS:
            files = [QUESTIONS / question_set / f"{name}.jsonl" for name in DOCUMENTS]
            questions = [question for file in files for question in questions_of(file)]
            self.assertEqual(len(questions), 200)
            self.assertTrue(all(question.query and question.relevant for question in questions))


if __name__ == "__main__":
    unittest.main()
