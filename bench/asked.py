"""Questions that are asked again and again over one connection, and how long the answers took."""

import json
import statistics
import time

from charter_server import Connection


class Timed:
    """One way of asking, with its results, and the times of each run in milliseconds."""

    def __init__(self, questions):
        self.questions, self.runs, self.found = questions, [], []

    def ask(self, question):
        """Asks one; what was found."""
        raise NotImplementedError

    def round(self, keep):
        for number, question in enumerate(self.questions):
            started = time.perf_counter()
            found = self.ask(question)
            took = time.perf_counter() - started
            if keep:
                self.runs[-1].append(took * 1000)
            if len(self.found) <= number:
                self.found.append(self.read(found))

    def read(self, found):
        """What an answer says, away from the clock."""
        return found

    def quantile(self, share):
        """The median of the runs' quantiles."""
        return statistics.median(statistics.quantiles(run, n=100)[round(share * 100) - 1] for run in self.runs)


class Asked(Timed):
    """Over HTTP. `read` finds the results in an answer."""

    def __init__(self, port, path, bodies, read, kind="application/json"):
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: "
        super().__init__([f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies])
        self.connection, self.reading = Connection(port), read

    def ask(self, question):
        status, body = self.connection.exchange(question)
        if status != 200:
            raise RuntimeError(f"a question was answered with {status}: {body[:500]}")
        return body

    def read(self, found):
        return self.reading(json.loads(found))


def in_turn(ways, rounds, runs=1):
    """Every way asks all its questions, round by round, in runs of `rounds`; two more rounds before warm all up."""
    for number in range(rounds * runs + 2):
        kept = number - 2
        if kept >= 0 and kept % rounds == 0:
            for way in ways:
                way.runs.append([])
        for way in ways if number % 2 else reversed(ways):
            way.round(keep=kept >= 0)
