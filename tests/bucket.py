#!/usr/bin/env python3
"""The archive in a bucket, against moto's S3 server (PyPI), which nobody here wrote.

    tests/bucket.py [RUNS]

Each run writes to a venue, kills it before it is archived, and as its next start catches up kills
either the server, or what stands between it and the store, within a write. Afterwards the bucket must restore to the same journal: nothing missed and
nothing doubled. Then two venues write to one place, and the store is asked about retention.
Programs are in OPENOUTCRY_BINARY and OPENOUTCRY_REPLAY, or in target/debug; MOTO_VENV may name an
environment of Python that has moto. Skips by name what it lacks.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
BINARY = os.environ.pop("OPENOUTCRY_BINARY", "target/debug/openoutcry")
REPLAY = os.environ.pop("OPENOUTCRY_REPLAY", "target/debug/openoutcry-replay")
KEY = "".join(random.choices("0123456789abcdef", k=64))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


STORE, BETWEEN = free_port(), free_port()
STORE_PACKAGES = ("moto[server,s3]==5.2.5", "boto3==1.44.8")
ENV = dict(os.environ, OPENOUTCRY_OPERATOR_KEY=KEY, AWS_ACCESS_KEY_ID="test",
           AWS_SECRET_ACCESS_KEY="secret/of+test", AWS_REGION="eu-west-1")
# Passes bytes on, late at times, and marks where a write began and where one was answered.
PROXY = f"""
import asyncio, random, sys
marks = open(sys.argv[1], 'ab', 0)
async def pump(reader, writer, answers):
    while data := await reader.read(4096):
        if data.startswith(b'PUT '):
            marks.write(b'+')
        await asyncio.sleep(random.choice([0, 0.02, 0.05, 0.1]))
        writer.write(data)
        await writer.drain()
        if answers:
            marks.write(b'-')
    writer.close()
async def serve(reader, writer):
    other = await asyncio.open_connection('127.0.0.1', {STORE})
    await asyncio.gather(pump(reader, other[1], False), pump(other[0], writer, True),
                         return_exceptions=True)
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', {BETWEEN}, reuse_address=True)
    await server.serve_forever()
asyncio.run(main())
"""
started = []


def start(*command, **how):
    process = subprocess.Popen(command, **how)
    started.append(process)
    return process


def kill(process):
    process.kill()
    process.wait()
    started.remove(process)


def wait_for(port):
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing listens on {port}")


def store_server(room):
    """moto and boto3 in an environment of their own; None if they cannot be had."""
    venv = os.environ.get("MOTO_VENV", room + "/venv")
    python = venv + "/bin/python"
    if not os.path.exists(python):
        try:
            for command in ([sys.executable, "-m", "venv", venv],
                            [python, "-m", "pip", "install", "-q", *STORE_PACKAGES]):
                subprocess.run(command, capture_output=True, timeout=180, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    start(venv + "/bin/moto_server", "-H", "127.0.0.1", "-p", str(STORE), env=ENV, **quiet)
    wait_for(STORE)
    return python


def boto(python, code):
    head = ("import boto3, json; s3 = boto3.client('s3', region_name='eu-west-1', "
            f"endpoint_url='http://127.0.0.1:{STORE}'); ")
    done = subprocess.run([python, "-c", head + code], env=ENV, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout or "null")


def proxy(marks):
    process = start(sys.executable, "-c", PROXY, marks)
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{BETWEEN}/", timeout=5).close()
            break
        except (urllib.error.HTTPError, ConnectionResetError):
            break
        except OSError:
            time.sleep(0.05)
    return process


def serve(data, log, place="venue", *more):
    """Starts the server; returns it with its URL."""
    out = open(log + ".out", "wb")
    process = start(BINARY, "serve", "--init", "--data", data, "--listen", "127.0.0.1:0",
                    "--archive-s3", f"s3://archive/{place}", "--s3-endpoint",
                    f"http://127.0.0.1:{BETWEEN}", *more, env=ENV, stdout=out,
                    stderr=open(log, "ab"))
    for _ in range(600):
        for line in open(log + ".out"):
            if line.startswith("listening on "):
                return process, line.split()[-1]
        if process.poll() is not None:
            sys.exit(f"the server ended: {open(log).read()[-2000:]}")
        time.sleep(0.05)
    sys.exit("the server does not listen")


def ask(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
    return json.load(urllib.request.urlopen(urllib.request.Request(url + path, data, headers), timeout=30))


def write(url, count):
    for number in range(count):
        picture = "https://assets.example.org/a.png"
        ask(url, "/api/v1/admin/users", {"profileName": f"user {number}", "profilePic": picture})


def await_write(marks, begun):
    """Waits for a write after what was marked, and then until somewhere within it."""
    for _ in range(1000):
        with open(marks) as file:
            file.seek(begun)
            if "+" in file.read():
                break
        time.sleep(0.01)
    time.sleep(random.random() * 0.06)


def run(*command):
    done = subprocess.run(command, env=ENV, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def stop(process, log):
    process.send_signal(signal.SIGTERM)
    if process.wait() != 0:
        sys.exit(f"the archive is incomplete: {open(log).read()[-2000:]}")
    started.remove(process)


def restored(room, data):
    fetched = room + "/fetched"
    shutil.rmtree(fetched, ignore_errors=True)
    place = ("--archive-s3", "s3://archive/venue", "--s3-endpoint", f"http://127.0.0.1:{STORE}")
    if " in the archive" not in run(BINARY, "fetch-archive", *place, fetched):
        sys.exit("a copy of the archive does not say so")
    os.makedirs(room + "/other", exist_ok=True)
    open(room + "/other/lock", "w").close()
    other = subprocess.run([BINARY, "fetch-archive", *place, room + "/other"], env=ENV, capture_output=True)
    if other.returncode != 1 or b"not of the bucket" not in other.stderr:
        sys.exit(f"a server's own archive is written to: {other}")
    place = ("--archive-s3", "s3://archive/vneue", *place[2:])
    nothing = subprocess.run([BINARY, "fetch-archive", *place, room + "/nothing"], env=ENV, capture_output=True)
    if nothing.returncode != 1:
        sys.exit(f"a misspelt place is copied: {nothing.stdout}")
    run(REPLAY, "verify", fetched)
    return run(REPLAY, "drill", fetched, "--data", data)


def objects(python):
    return boto(python, "print(json.dumps(sorted((o['Key'], o['ETag']) for o in "
                        "s3.list_objects_v2(Bucket='archive')['Contents'])))")


def two_writers(room, python, data, log):
    """A copy of the venue goes another way: it must not write where the first one does."""
    copy, other_log = room + "/copy", room + "/copy.log"
    shutil.copytree(data, copy)
    first, url = serve(data, log)
    other, other_url = serve(copy, other_log)
    write(url, 3)
    stop(first, log)
    before = objects(python)
    # The store has something of that name: the write is refused, not the start.
    write(other_url, 3)
    other.send_signal(signal.SIGTERM)
    if other.wait() == 0 or "holds other blocks than the journal" not in open(other_log).read():
        sys.exit(f"a second venue wrote to the archive: {open(other_log).read()}")
    started.remove(other)
    command = [BINARY, "serve", "--data", copy, "--listen", "127.0.0.1:0", "--archive-s3",
               "s3://archive/venue", "--s3-endpoint", f"http://127.0.0.1:{STORE}"]
    again = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120)
    if again.returncode == 0 or "ARCHIVE_" not in again.stderr:
        sys.exit(f"a second venue was let in: {again.stderr}")
    if before != objects(python):
        sys.exit("an object was changed or removed")


def retention(python, room):
    data, log = room + "/kept", room + "/kept.log"
    process, url = serve(data, log, "kept", "--s3-retain-days", "7")
    write(url, 1)
    stop(process, log)
    mode = boto(python, "key = s3.list_objects_v2(Bucket='archive', Prefix='kept/')['Contents'][0]['Key'];"
                        "print(json.dumps(s3.head_object(Bucket='archive', Key=key)['ObjectLockMode']))")
    if mode != "GOVERNANCE":
        sys.exit(f"the object is not retained: {mode}")


def main():
    room = tempfile.mkdtemp(dir=os.environ.get("TMPDIR"))
    try:
        python = store_server(room)
        if python is None:
            print("moto cannot be installed here: the archive in a bucket is not tested")
            return
        boto(python, "s3.create_bucket(Bucket='archive', ObjectLockEnabledForBucket=True, "
                     "CreateBucketConfiguration={'LocationConstraint': 'eu-west-1'})")
        data, log, marks = room + "/data", room + "/log", room + "/marks"
        between, killed = proxy(marks), {"server": 0, "store": 0, "within a write": 0}
        for _ in range(RUNS):
            process, url = serve(data, log)
            write(url, random.randint(1, 20))
            kill(process)
            begun = os.path.getsize(marks)
            process, url = serve(data, log)
            await_write(marks, begun)
            side = random.choice(["server", "store"])
            kill(process if side == "server" else between)
            killed[side] += 1
            killed["within a write"] += open(marks).read().endswith("+")
            if side == "store":
                between = proxy(marks)
                # It is tried again after a second.
                time.sleep(random.random() * 2.5)
                kill(process)
        process, url = serve(data, log)
        write(url, 1)
        stop(process, log)
        print(f"kills: {killed}; {restored(room, data).strip()}")
        two_writers(room, python, data, log)
        retention(python, room)
        print(f"{RUNS} runs: nothing missed, nothing doubled, nothing overwritten, all retained")
    finally:
        for process in started:
            process.kill()
        shutil.rmtree(room, ignore_errors=True)


main()
