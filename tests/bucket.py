#!/usr/bin/env python3
"""The archive in a bucket, against moto's S3 server (PyPI), which nobody here wrote.

    tests/bucket.py [RUNS]

Each run writes to a venue and kills either the server, or what stands between it and the store, in
the middle of a request. Afterwards the bucket must restore to the same journal: nothing missed and
nothing doubled. Then two venues write to one place, and the store is asked about retention.
Programs are in OPENOUTCRY_BINARY and OPENOUTCRY_REPLAY, or in target/debug. Skips by name what it
lacks.
"""

import json
import os
import random
import shutil
import signal
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
STORE, BETWEEN = 18931, 18932
ENV = dict(os.environ, OPENOUTCRY_OPERATOR_KEY=KEY, AWS_ACCESS_KEY_ID="test",
           AWS_SECRET_ACCESS_KEY="secret/of+test", AWS_REGION="eu-west-1")
# Passes bytes on, late at times, so that a kill finds requests on their way.
PROXY = f"""
import asyncio, random
async def pump(reader, writer):
    while data := await reader.read(4096):
        await asyncio.sleep(random.choice([0, 0, 0.01, 0.05]))
        writer.write(data)
        await writer.drain()
    writer.close()
async def serve(reader, writer):
    other = await asyncio.open_connection('127.0.0.1', {STORE})
    await asyncio.gather(pump(reader, other[1]), pump(other[0], writer), return_exceptions=True)
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
    python = room + "/venv/bin/python"
    made = subprocess.run([sys.executable, "-m", "venv", room + "/venv"], capture_output=True)
    if made.returncode == 0:
        made = subprocess.run([python, "-m", "pip", "install", "-q", "moto[server,s3]", "boto3"],
                              capture_output=True)
    if made.returncode != 0:
        return None
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    start(room + "/venv/bin/moto_server", "-H", "127.0.0.1", "-p", str(STORE), env=ENV, **quiet)
    wait_for(STORE)
    return python


def boto(python, code):
    head = ("import boto3, json; s3 = boto3.client('s3', region_name='eu-west-1', "
            f"endpoint_url='http://127.0.0.1:{STORE}'); ")
    done = subprocess.run([python, "-c", head + code], env=ENV, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout or "null")


def proxy():
    process = start(sys.executable, "-c", PROXY)
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
    run(BINARY, "fetch-archive", *place, fetched)
    run(REPLAY, "verify", fetched)
    return run(REPLAY, "drill", fetched, "--data", data)


def two_writers(room, python, data, log):
    """A copy of the venue goes another way: it must not write where the first one does."""
    copy, other_log = room + "/copy", room + "/copy.log"
    shutil.copytree(data, copy)
    first, url = serve(data, log)
    write(url, 3)
    stop(first, log)
    before = boto(python, "print(json.dumps(sorted((o['Key'], o['ETag']) for o in "
                          "s3.list_objects_v2(Bucket='archive')['Contents'])))")
    other = start(BINARY, "serve", "--data", copy, "--listen", "127.0.0.1:0", "--archive-s3",
                  "s3://archive/venue", "--s3-endpoint", f"http://127.0.0.1:{BETWEEN}", env=ENV,
                  stdout=subprocess.DEVNULL, stderr=open(other_log, "wb"))
    if other.wait(timeout=60) == 0 or "ARCHIVE_AHEAD" not in open(other_log).read():
        sys.exit(f"a venue behind the archive was let in: {open(other_log).read()}")
    started.remove(other)
    after = boto(python, "print(json.dumps(sorted((o['Key'], o['ETag']) for o in "
                         "s3.list_objects_v2(Bucket='archive')['Contents'])))")
    if before != after:
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
        data, log, between = room + "/data", room + "/log", proxy()
        killed = {"server": 0, "store": 0}
        for number in range(RUNS):
            process, url = serve(data, log)
            side = random.choice(["server", "store"])
            write(url, random.randint(1, 20))
            if side == "store":
                time.sleep(random.random() * 0.3)
                kill(between)
                between = proxy()
                time.sleep(random.random() * 2)
            kill(process)
            if side == "server":
                # The catching up of the next start is cut short, where it has more to do.
                process, url = serve(data, log)
                time.sleep(random.random() * 0.3)
                kill(process)
            killed[side] += 1
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
