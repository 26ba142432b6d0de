#!/usr/bin/env python3
"""Starts and stops a server, and kills it at each call by which it changes a file or a folder
meanwhile, one after the other; where it writes, with nothing, a part and nearly all of it written.
Sees that the next start comes to the very same state.

    tests/killed_starts.py BINARY

Three starts are killed so: the first of all, one after a kill, and one after a stop in order; each
with snapshots, history and an archive. Imports are killed in the same way, by the `openoutcry-replay`
beside the binary: no server may open what they leave, unless it is all there, and the next import
must come to the state of the journal that is imported. Standard library and a C compiler only. Exit
code 1 where a start does not come to the state it should.
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
# How many eighths of a write are done.
PARTS = (0, 3, 7)
COMMANDS = 400
# More than a first start writes.
FIRST_RECORDS = 10
# Fewer calls than any start makes.
CALLS_MIN = 10
# Longer than a start or a stop takes here, in seconds.
PATIENCE = 120
FLAGS = ["--listen", "127.0.0.1:0", "--snapshot-every", "100"]


class Start:
    """A server that was started, and has opened or ended."""

    def __init__(self, binary, folder, more=None):
        command = [binary, "serve", "--data", folder / "data", "--archive", folder / "archive"]
        env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": OPERATOR, **(more or {})}
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command + FLAGS, stdout=subprocess.PIPE, stderr=self.log, text=True, env=env
        )
        self.port = None
        # One that hangs is ended, and found to be elsewhere.
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
        """Stops it in order; where it had come to, or what it said instead."""
        self.process.send_signal(signal.SIGTERM)
        self.ended()
        self.log.seek(0)
        said = self.log.read()
        found = re.search(r"stopped (sequence=(\d+) .*)", said)
        if not found or self.port is None:
            return said
        # What a first start writes is of its own time, and made with a key of its own.
        return found[1] if int(found[2]) > FIRST_RECORDS else found[2]


def trade(port):
    """Users, money and commands enough for blocks, snapshots and history."""
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
    """A venue that has traded, was started again, traded more and was stopped."""
    for last in (False, True):
        server = Start(binary, folder)
        trade(server.port)
        if in_order or not last:
            server.stopped()
        else:
            server.killed()


def imported(tool, state, made, more=None):
    """Imports a venue's journal; the exit code."""
    command = [tool, "import", state / "data", made / "data"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    env = {**os.environ, **(more or {})}
    return subprocess.run(command, timeout=PATIENCE, check=False, env=env, **quiet).returncode


def killed_imports(binary, killer, state, work):
    """Kills imports of a venue's journal; how many kills, and how many went wrong."""
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
            # Before anything is in it, it is a folder like any other, where a venue may begin.
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
