#!/usr/bin/env python3
"""Starts and stops a server once per call that changes a file or a folder, and kills it at that
call; writes are cut off with nothing, a part, or nearly all of their bytes written. The next start
must reach the same state each time.

    tests/killed_starts.py BINARY

Three starts are tried: a venue's first, one after a kill, and one after an orderly stop; each with
snapshots, history and an archive. Imports by the `openoutcry-replay` beside the binary are killed
in the same way: no server may open a partial import, and the next import must reach the state of
the imported journal. Needs the standard library and a C compiler only. Exit code 1 if a start
reaches another state.
"""

import http.client
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

OPERATOR = "killed-starts-operator-key-0123456789"
# Eighths of a write that are done before the kill.
PARTS = (0, 3, 7)
COMMANDS = 400
# More records than a first start writes.
FIRST_RECORDS = 10
# Every start makes more calls than this.
CALLS_MIN = 10
# Time limit of a start or a stop, in seconds.
PATIENCE = 120
FLAGS = ["--listen", "127.0.0.1:0", "--snapshot-every", "100"]


class Start:
    """A started server that listens or has exited."""

    def __init__(self, binary, folder, more=None):
        command = [binary, "serve", "--data", folder / "data", "--archive", folder / "archive"]
        env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": OPERATOR, "OPENOUTCRY_INIT": "true",
               **(more or {})}
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command + FLAGS, stdout=subprocess.PIPE, stderr=self.log, text=True, env=env
        )
        self.port = None
        # A server that hangs is killed, and then counts as a wrong state.
        self.alarm = threading.Timer(PATIENCE, self.process.kill)
        self.alarm.start()
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.port = int(line.rsplit(":", 1)[1])
                return
        self.ended()

    def ended(self):
        self.process.stdout.read()
        self.process.wait()
        self.alarm.cancel()

    def killed(self):
        self.process.kill()
        self.ended()

    def stopped(self):
        """Stops it in order; returns the state that it logged, or the whole log if there is none."""
        self.process.send_signal(signal.SIGTERM)
        self.ended()
        self.log.seek(0)
        said = self.log.read()
        found = re.search(r"stopped (sequence=(\d+) .*)", said)
        if not found or self.port is None:
            return said
        # A first start's records have the time of that start, so only their number can be compared.
        return found[1] if int(found[2]) > FIRST_RECORDS else found[2]


def trade(port):
    """Makes users and deposits: enough records for blocks, snapshots and history."""
    server = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"X-API-Key": OPERATOR, "Content-Type": "application/json"}
    for number in range(COMMANDS // 2):
        person = {"profileName": f"ann{number}", "profilePic": "https://assets.example.org/a.png"}
        server.request("POST", "/api/v1/admin/users", json.dumps(person), headers)
        user = json.load(server.getresponse())["id"]
        path = f"/api/v1/admin/users/{user}/deposits"
        server.request("POST", path, json.dumps({"amount": "10.00"}), headers)
        server.getresponse().read()


def stopped(binary, folder):
    return Start(binary, folder).stopped()


def begun(binary, folder, in_order):
    """Makes a venue: writes records, restarts, writes more, and stops it or kills it."""
    for last in (False, True):
        server = Start(binary, folder)
        trade(server.port)
        if in_order or not last:
            server.stopped()
        else:
            server.killed()


def imported(tool, state, made, more=None):
    """Imports a venue's journal; returns the exit code."""
    command = [tool, "import", state / "data", made / "data"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    env = {**os.environ, **(more or {})}
    return subprocess.run(command, timeout=PATIENCE, check=False, env=env, **quiet).returncode


def killed_imports(binary, killer, state, work):
    """Kills imports of a venue's journal; returns the kills, and how many of them went wrong."""
    tool = binary.with_name("openoutcry-replay")
    made, probe = work / "imported", work / "probe"
    wanted, kills, faults = stopped(binary, state), 0, 0
    for part in PARTS:
        at, refused, survived = 0, 0, False
        while not survived:
            at += 1
            kill = {"LD_PRELOAD": str(killer), "KILL_AT": str(at), "KILL_PART": str(part)}
            ended = imported(tool, state, made, kill)
            survived = ended == 0
            if ended not in (0, -signal.SIGKILL):
                sys.exit(f"import, call {at}: it ended with {ended}")
            # While nothing is in the folder, a server may begin a new venue there.
            began = made.is_dir() and any(path.name != "lock" for path in (made / "data").glob("*"))
            opened, found = None, None
            if began:
                shutil.copytree(made, probe)
                server = Start(binary, probe)
                opened = server.port is not None
                found = server.stopped()
                shutil.rmtree(probe)
                refused += not opened
            if opened and found != wanted or survived and not opened:
                print(f"import, call {at}, part {part}: opened, {found}\n  instead of {wanted}")
                faults += 1
            again = imported(tool, state, made)
            found = stopped(binary, made)
            if (again == 0) == bool(opened) or found != wanted:
                print(f"import, call {at}, part {part}: again {again}, {found}\n  not {wanted}")
                faults += 1
            shutil.rmtree(made)
        if refused <= CALLS_MIN:
            sys.exit(f"import: only {refused} were left unfinished, so nothing was tried")
        kills += at - 1
        print(f"import, {part}/8 of a write done: {at - 1} kills, {refused} that no server opened")
    return kills, faults


def main(binary):
    binary = pathlib.Path(binary).absolute()
    source = pathlib.Path(__file__).with_suffix(".c")
    faults, kills = 0, 0
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        killer = work / "killer.so"
        compiled = ["cc", "-O1", "-shared", "-fPIC", "-o", killer, source, "-ldl"]
        subprocess.run(compiled, check=True)
        states = {"empty": work / "empty", "killed": work / "killed", "stopped": work / "stopped"}
        states["empty"].mkdir()
        begun(binary, states["killed"], in_order=False)
        begun(binary, states["stopped"], in_order=True)
        for name, state in states.items():
            copy = work / "copy"
            shutil.copytree(state, copy)
            wanted = stopped(binary, copy)
            if not re.fullmatch(r"(sequence=)?\d+( .*)?", wanted):
                sys.exit(f"{name}: it does not start without being killed: {wanted}")
            shutil.rmtree(copy)
            for part in PARTS:
                at, opened, survived = 0, 0, False
                while not survived:
                    at += 1
                    shutil.copytree(state, copy)
                    kill = {"LD_PRELOAD": str(killer), "KILL_AT": str(at), "KILL_PART": str(part)}
                    start = Start(binary, copy, kill)
                    opened += start.port is not None
                    start.stopped()
                    survived = start.process.returncode == 0
                    if start.process.returncode not in (0, -signal.SIGKILL):
                        sys.exit(f"{name}, call {at}: it ended with {start.process.returncode}")
                    found = stopped(binary, copy)
                    if found != wanted:
                        print(f"{name}, call {at}, part {part}: {found}\n  instead of {wanted}")
                        faults += 1
                    shutil.rmtree(copy)
                if at <= CALLS_MIN:
                    sys.exit(f"{name}: only {at - 1} calls were seen, so nothing was tried")
                kills += at - 1
                print(f"{name}, {part}/8 of a write done: {at - 1} kills, {opened - 1} of them once open")
        more = killed_imports(binary, killer, states["stopped"], work)
        kills, faults = kills + more[0], faults + more[1]
    print(f"{kills} kills, {faults} starts after them that came elsewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
