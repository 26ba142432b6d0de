#!/usr/bin/env python3
"""Starts a server, and imports a journal, once per call that changes a file or a folder, and kills
it at that call; a write is cut in the middle. The next start or import must come to the same state
each time, and no server may open an import that was not finished.

    tests/killed_starts.py BINARY

The simulator cuts starts in more ways, but has neither sled's files nor imports. Needs a C compiler,
and `openoutcry-replay` beside the binary. Exit code 1 if something comes elsewhere.
"""

import http.client
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

KEY = "killed-starts-operator-key-0123456789"
USERS = 200
# More records than a first start writes, whose times are its own.
FIRST_RECORDS = 10
# Every run makes more calls than this.
CALLS_MIN = 10
# Time limit of a start or an import, in seconds.
PATIENCE = 120


class Server:
    """A server that listens or has ended."""

    def __init__(self, binary, folder, more=None):
        command = [binary, "serve", "--init", "--listen", "127.0.0.1:0", "--snapshot-every", "100",
                   "--data", folder / "data", "--archive", folder / "archive"]
        env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": KEY, **(more or {})}
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=env
        )
        # One that hangs is killed, and then comes elsewhere.
        self.alarm = threading.Timer(PATIENCE, self.process.kill)
        self.alarm.start()
        lines = (line for line in self.process.stdout if line.startswith("listening on "))
        self.port = int(next(lines, ":0").rsplit(":", 1)[1])

    def end(self, how=signal.SIGTERM):
        """Ends it; returns its exit code and the state that it logged, or all that it logged."""
        self.process.send_signal(how)
        self.process.communicate()
        self.alarm.cancel()
        self.log.seek(0)
        said = self.log.read()
        found = re.search(r"stopped (sequence=(\d+) .*)", said)
        if found and self.port:
            said = found[1] if int(found[2]) > FIRST_RECORDS else found[2]
        return self.process.returncode, said


def killed_venue(binary, folder):
    """Makes a venue of two starts with blocks and snapshots, whose last server was killed."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        server = Server(binary, folder)
        wire = http.client.HTTPConnection("127.0.0.1", server.port)
        for number in range(USERS):
            user = {"profileName": f"ann{number}", "profilePic": "https://assets.example.org/a.png"}
            headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
            wire.request("POST", "/api/v1/admin/users", json.dumps(user), headers)
            assert wire.getresponse().read()
        server.end(how)


def each_kill(what, killer, run):
    """Runs with a kill at each call, until there is no such call; returns the faults."""
    faults = 0
    for at in itertools.count(1):
        code, wrong = run({"LD_PRELOAD": str(killer), "KILL_AT": str(at)})
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"{what}, call {at}: it ended with {code}")
        if wrong:
            print(f"{what}, call {at}: {wrong}")
            faults += 1
        if code == 0:
            break
    if at <= CALLS_MIN:
        sys.exit(f"{what}: only {at - 1} calls were seen, so nothing was tried")
    print(f"{what}: {at - 1} kills, {faults} came elsewhere")
    return faults


def killed_start(binary, venue, copy):
    def run(kill):
        shutil.copytree(venue, copy)
        code, _ = Server(binary, copy, kill).end()
        found = Server(binary, copy).end()[1]
        shutil.rmtree(copy)
        return code, found != wanted and f"{found}\n  instead of {wanted}"

    shutil.copytree(venue, copy)
    wanted = Server(binary, copy).end()[1]
    shutil.rmtree(copy)
    assert re.fullmatch(r"\d+|sequence=.*", wanted), wanted
    return run


def killed_import(binary, venue, made):
    tool = [binary.with_name("openoutcry-replay"), "import", venue / "data", made / "data"]

    def imported(more):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        env = {**os.environ, **more}
        return subprocess.run(tool, timeout=PATIENCE, check=False, env=env, **quiet).returncode

    def run(kill):
        code, opened, probe = imported(kill), False, made.with_suffix(".probe")
        # While nothing is in the folder, a server may begin a new venue there.
        if made.is_dir() and any(path.name != "lock" for path in (made / "data").glob("*")):
            shutil.copytree(made, probe)
            server = Server(binary, probe)
            opened, found = server.port != 0, server.end()[1]
            shutil.rmtree(probe)
            if opened and found != wanted:
                return code, f"it opened as {found}"
        again, found = imported({}), Server(binary, made).end()[1]
        shutil.rmtree(made)
        wrong = (again == 0) == opened or found != wanted or (code == 0 and not opened)
        return code, wrong and f"then {again} and {found}\n  instead of {wanted}"

    wanted = Server(binary, venue).end()[1]
    return run


def main(binary):
    binary = pathlib.Path(binary).absolute()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        killer = work / "killer.so"
        source = pathlib.Path(__file__).with_suffix(".c")
        compiled = ["cc", "-O1", "-shared", "-fPIC", "-o", killer, source, "-ldl"]
        subprocess.run(compiled, check=True)
        (work / "none").mkdir()
        killed_venue(binary, work / "killed")
        faults = sum([
            each_kill("first start", killer, killed_start(binary, work / "none", work / "copy")),
            each_kill("start", killer, killed_start(binary, work / "killed", work / "copy")),
            each_kill("import", killer, killed_import(binary, work / "killed", work / "made")),
        ])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
