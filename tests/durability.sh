#!/bin/sh
# Checks the journal's system calls with strace: every append is on disk before it returns; folder
# entries are synced when a journal, an archive or an export is made; files made by the replay tool
# are on disk before they get their name, and imports before they open. What a failing disk does, the
# simulator shows. Prints PASS or FAIL.
#
#     tests/durability.sh [PROGRAM [TOOL]]     PROGRAM: examples/journal_append.rs, built
#                                              TOOL: openoutcry-replay, built
set -u
cd "$(dirname "$0")/.." || exit 1

if ! command -v strace >/dev/null 2>&1; then
    echo "SKIPPED: no strace on this machine"
    exit 0
fi
if ! command -v python3 >/dev/null 2>&1; then
    echo "SKIPPED: no python3 on this machine"
    exit 0
fi
program=${1:-}
if [ -z "$program" ]; then
    cargo build --quiet --example journal_append
    program=${CARGO_TARGET_DIR:-target}/debug/examples/journal_append
fi
tool=${2:-}
if [ -z "$tool" ]; then
    cargo build --quiet -p openoutcry-replay
    tool=${CARGO_TARGET_DIR:-target}/debug/openoutcry-replay
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
calls=openat,write,pwrite64,pwritev,fsync,fdatasync,sync_file_range,rename,linkat,mkdir

if ! strace -f -y -e trace=$calls -o "$work/trace" "$program" "$work/parent/venue" 25 \
    "$work/parent" >"$work/out" 2>&1; then
    if grep -qi "ptrace" "$work/out"; then
        echo "SKIPPED: strace may not trace here"
        exit 0
    fi
    cat "$work/out"
    echo FAIL
    exit 1
fi

python3 - "$work/trace" "$work/parent/venue" <<'PYTHON'
import re
import sys

trace, venue = sys.argv[1], sys.argv[2]
parent = venue.rsplit("/", 1)[0]
log = venue + "/journal/log/00000000000000000001.blocks"
call = re.compile(r"^\d+\s+(\w+)\((.*)$")
named, appends, unsynced, written, faults = set(), 0, None, False, []
archived = exported = renamed = False
for line in open(trace, errors="replace"):
    found = call.match(line)
    if not found:
        continue
    name, rest = found.groups()
    done = rest.rstrip().endswith("= 0")
    target = re.match(r"\d+<([^>]*)>", rest)
    target = target.group(1) if target else None
    if name in ("pwrite64", "pwritev", "write") and target == log:
        unsynced, written = line.strip(), True
    if name == "fdatasync" and target == log and done:
        unsynced = None
        synced_since = True
    if name == "fsync" and done:
        named.add(target)
    # A new entry makes the folder unsynced again.
    if name == "mkdir" and rest.startswith(f'"{parent}/archive"'):
        named.discard(parent)
    if name == "openat" and "O_CREAT" in rest and "/archive/" in rest:
        named.discard(parent + "/archive")
    if name == "rename" and f'"{venue}/refused"' in rest and venue + "/refused.partial" in named:
        named.add(venue + "/refused")
        named.discard(venue)
    if name in ("rename", "linkat") and "venue.blocks" in rest:
        renamed = True
        named.discard(parent + "/copies")
    if name == "write" and '"archived' in rest:
        archived = True
        for directory in (parent, parent + "/archive"):
            if directory not in named:
                faults.append("not synced when archived: " + directory)
    if name == "write" and '"exported' in rest:
        exported = True
        if parent + "/copies" not in named:
            faults.append("not synced when exported: " + parent + "/copies")
    if name == "write" and '"opened at' in rest:
        for directory in (venue + "/journal/log", venue + "/journal", venue, parent,
                          venue + "/refused"):
            if directory not in named:
                faults.append("not synced when made: " + directory)
        synced_since, written = False, False
    if name == "write" and '"appended' in rest:
        appends += 1
        if unsynced:
            faults.append(f"append {appends} returned before this was synced: {unsynced}")
        if not written:
            faults.append(f"append {appends} returned without a write to the log")
        if not synced_since:
            faults.append(f"append {appends} returned without fdatasync of the log")
        synced_since, written = False, False
if not (archived and exported and renamed):
    faults.append("no archive or no export was seen")
if appends != 25:
    faults.append(f"{appends} appends seen, 25 expected")
for fault in faults[:10]:
    print("  " + fault)
sound = "no" if faults else "yes"
print(f"  {appends} appends, each written and synced, names of archive and export too: {sound}")
sys.exit(1 if faults else 0)
PYTHON
status=$?

# Files made by the replay tool are on disk before they get their name, and the name before the tool
# reports success. A directory being imported into has a durable marker before anything else is in
# it, until the whole import is on disk.
golden=tests/golden/v1/amend.journal
mkdir "$work/made"
calls=openat,write,pwrite64,pwritev,fsync,fdatasync,rename,mkdir,unlink,unlinkat
strace -f -y -e trace=$calls -o "$work/fills" \
    "$tool" fills "$golden" -o "$work/made/fills.csv" >"$work/out" 2>&1 || status=1
strace -f -y -e trace=$calls -o "$work/import" \
    "$tool" import "$golden" "$work/made/venue" >>"$work/out" 2>&1 || status=1
python3 - "$work" <<'PYTHON' || status=1
import re
import sys

work = sys.argv[1]
made = work + "/made"


def steps(trace):
    """The calls in the order of their ends: name, rest, the path of the first descriptor."""
    begun = {}
    for line in open(trace, errors="replace"):
        thread, line = line.rstrip().split(None, 1)
        if line.endswith("<unfinished ...>"):
            begun[thread] = line[: -len("<unfinished ...>")]
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", line)
        if resumed:
            line = begun.pop(thread, "") + resumed[1]
        call = re.match(r"(\w+)\((.*)\) += (-?\d+)", line)
        if call and not call[3].startswith("-"):
            path = re.match(r"\d+<([^>]*)>", call[2])
            yield call[1], call[2], path and path[1]


def look(trace, check):
    """Passes each call to `check`, with the files and folders not yet on disk before it."""
    files, folders, faults = set(), set(), []
    for name, rest, path in steps(trace):
        paths = [p for p in re.findall(r'"([^"]*)"', rest) if p.startswith(made + "/")]
        check(name, rest, paths, files, folders, faults)
        if name in ("write", "pwrite64", "pwritev") and path and path.startswith(made + "/"):
            files.add(path)
        if name in ("fsync", "fdatasync"):
            files.discard(path)
            folders.discard(path)
        if name in ("mkdir", "rename", "unlink", "unlinkat") or "O_CREAT" in rest:
            folders.update(p.rsplit("/", 1)[0] for p in paths)
    check("exit", "", [], files, folders, faults)
    return faults


seen = set()


def fills(name, rest, paths, files, folders, faults):
    if name == "rename" and paths[-1:] == [made + "/fills.csv"]:
        seen.add("fills")
        faults.extend("named before it was synced: " + p for p in files)
    if (name == "write" and rest.startswith("1<")) or name == "exit":
        faults.extend("answered before its names were synced: " + p for p in folders)


venue = made + "/venue"


def imported(name, rest, paths, files, folders, faults):
    if name == "mkdir" and venue + "/journal" in paths:
        seen.add("begun")
        faults.extend("filled before its names were synced: " + p for p in folders)
        if "sign" not in seen:
            faults.append("filled before it said that it is being imported into")
    if name == "fsync" and rest.endswith(f"<{venue}/importing>"):
        seen.add("sign")
    if name == "unlink" and venue + "/importing" in paths:
        seen.add("import")
        faults.extend("opens before this is synced: " + p for p in files | folders)
    if (name == "write" and rest.startswith("1<")) or name == "exit":
        faults.extend("answered before its names were synced: " + p for p in folders)


faults = look(work + "/fills", fills) + look(work + "/import", imported)
if seen != {"fills", "sign", "begun", "import"}:
    faults.append(f"seen only: {sorted(seen)}")
for fault in faults[:10]:
    print("  " + fault)
sound = "no" if faults else "yes"
print(f"  what the replay tool makes and imports is on disk before it is named: {sound}")
sys.exit(1 if faults else 0)
PYTHON

if [ "$status" -eq 0 ]; then echo PASS; else echo FAIL; fi
exit "$status"
