#!/usr/bin/env python3
"""Cuts the committed sample out of the full recordings of order flow.

    python3 tests/flow/make_sample.py DIRECTORY-OF-THE-RECORDINGS

Numbers only: markets get neutral names, the origin of a line (`src`) is left out, times start
at 0. Each market is cut where the recordings state its book, so that the last book of the sample
is an expectation and not a guess; the markets are merged in time order, all starting together.
Lines and orders are numbered anew. The files are the same to the byte on every run.
"""

import gzip
import json
import pathlib
import sys

# (recording, market, new name, line of the recording to cut after; 0 keeps the whole market)
CUTS = [
    ("kalshi-gold-1800-2045", "KXGOLD15M-26AUG101900-00", "k1", 157960),
    ("kalshi-gold-1800-2045", "KXGOLD15M-26AUG101945-45", "k2", 257176),
    ("polymarket-nhl-0130", "NHL0607-1", "p1", 60000),
    ("polymarket-nhl-0130", "NHL0607-2", "p2", 30000),
    ("polymarket-nhl-0130", "NHL0607-3", "p3", 0),
    ("polymarket-nhl-0130", "NHL0607-4", "p4", 10000),
    ("polymarket-nhl-0130", "NHL0607-5", "p5", 0),
    ("polymarket-nhl-0130", "NHL0607-6", "p6", 40000),
]
# Markets that ran at the same time share a start time; consecutive windows each get their own.
OWN_START = {"kalshi-gold-1800-2045"}


def rows(path):
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def write(path, rows_out):
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows_out)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(path.name, len(rows_out), "rows", path.stat().st_size, "bytes")


def cut(source):
    """All kept commands as (time, cut's index, old line, row), and their fills and books."""
    commands, fills, books = [], [], []
    for name in dict.fromkeys(name for name, *_ in CUTS):
        flow = rows(source / f"{name}.flow.jsonl.gz")
        kept = {m: (i, new, end or len(flow)) for i, (n, m, new, end) in enumerate(CUTS) if n == name}
        start = {}
        for line, row in enumerate(flow, 1):
            market = row["market"]
            since = start.setdefault(market if name in OWN_START else None, row["t_ms"])
            if market in kept and line <= kept[market][2]:
                commands.append((row["t_ms"] - since, kept[market][0], line, row))
        for kind, key, into in (("fills", "line", fills), ("books", "after_line", books)):
            for row in rows(source / f"{name}.{kind}.jsonl.gz"):
                if row["market"] in kept and row[key] <= kept[row["market"]][2]:
                    into.append((kept[row["market"]][0], row))
    return sorted(commands, key=lambda c: c[:3]), fills, books


def main(source, target):
    commands, fills, books = cut(source)
    new_ref, new_line, time_of, flow = {}, {}, {}, []
    for line, (t_ms, which, old_line, row) in enumerate(commands, 1):
        key = (which, row["ref"])
        if row["op"] == "place":
            assert key not in new_ref
            new_ref[key] = len(new_ref) + 1
        new_line[which, old_line] = line
        time_of[line] = t_ms
        row = {k: v for k, v in row.items() if k != "src"}
        row |= {"t_ms": t_ms, "market": CUTS[which][2], "ref": new_ref[key]}
        flow.append(row)
    # A book recorded after another market's line has not changed since its own market's last command.
    own = {}
    for which, old_line in sorted(new_line):
        own.setdefault(which, []).append(old_line)
    out_books = []
    for which, row in books:
        before = [old for old in own[which] if old <= row["after_line"]]
        if not before:
            continue
        line = new_line[which, before[-1]]
        out_books.append(row | {"after_line": line, "t_ms": time_of[line], "market": CUTS[which][2]})
    out_books = list({(b["after_line"], b["market"]): b for b in out_books}.values())
    out_books.sort(key=lambda b: b["after_line"])
    out_fills = []
    for which, row in fills:
        line = new_line[which, row["line"]]
        out_fills.append(row | {
            "line": line, "t_ms": time_of[line], "market": CUTS[which][2],
            "taker": new_ref[which, row["taker"]], "maker": new_ref[which, row["maker"]],
        })
    out_fills.sort(key=lambda f: f["line"])
    last = {name: max(i for i, r in enumerate(flow, 1) if r["market"] == name) for *_, name, _ in CUTS}
    stated = {(b["after_line"], b["market"]) for b in out_books}
    for name, line in last.items():
        assert (line, name) in stated, f"the last book of {name} is not stated"
    write(target / "sample.flow.jsonl.gz", flow)
    write(target / "sample.fills.jsonl.gz", out_fills)
    write(target / "sample.books.jsonl.gz", out_books)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent)
