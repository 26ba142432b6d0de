#!/usr/bin/env python3
"""Reads and verifies an exported openoutcry journal with Python's standard library alone.

Written from journal-format.md. Checks magic, version, checksum, chain, sequence numbers and time of
every block, that its results end where a block ends, and the form of every record; prints one JSON
line per record. Whether the results are right takes a replay: openoutcry-replay verify. Exit codes:
0 sound; 1 the file cannot be read; 2 wrong usage; 3 damaged or empty, stderr says where.

    openoutcry-replay export DATA journal.blocks.gz && python3 journal_reader.py journal.blocks.gz
"""
import gzip
import hashlib
import json
import os
import re
import struct
import sys
import zlib

BLOCK_HEADER = struct.Struct("<8sHHIQII32sQ32s")
RECORD_HEADER = struct.Struct("<IHBBq")
BLOCK_BYTES_MAX = 60_000
TIME_MAX = 253_402_300_799_999
ORDER_LOTS_MAX = 100_000_000_000_000
VENUE_OPEN_ORDERS_CEILING = 33_554_432
MONEY_SUPPLY_CEILING = 9_000_000_000_000_000_000
INTEGERS = {"u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "i64": "<q"}

# number: (name, {field: type}), at version 1; FURTHER has other versions.
KINDS = {
    1: ("open_venue", {"rules_version": "u32", "currency": "text",
                       "user_open_orders_max": "u32",
                       "venue_open_orders_max": "u32", "money_supply_max": "i64",
                       "repeat_window_seconds": "u32",
                       "user_names_max": "u32"}),
    2: ("create_user", {"profile_name": "text", "profile_pic": "text"}),
    3: ("add_key", {"user": "u32", "role": "u8", "label": "text", "hash": "bytes32"}),
    4: ("revoke_key", {"user": "u32", "key": "u32"}),
    5: ("deposit", {"user": "u32", "amount": "i64"}),
    6: ("withdraw", {"user": "u32", "amount": "i64"}),
    7: ("create_category", {"name": "text", "slug": "text"}),
    8: ("create_event", {"titles": "texts", "sub_titles": "texts", "descriptions": "texts",
                         "images": "list<text>", "highlighted": "bool",
                         "categories": "list<u32>", "mutually_exclusive": "bool"}),
    9: ("create_market", {"questions": "texts", "descriptions": "texts", "yes_text": "texts",
                          "no_text": "texts", "logo": "text", "deadline": "i64",
                          "categories": "list<u32>", "event": "opt<u32>", "highlighted": "bool",
                          "dispute_window_seconds": "u32",
                          "maker_fee": "u16", "taker_fee": "u16"}),
    10: ("revise_event", {"event": "u32", "titles": "opt<texts>", "sub_titles": "opt<texts>",
                          "descriptions": "opt<texts>", "images": "opt<list<text>>",
                          "highlighted": "opt<bool>", "categories": "opt<list<u32>>"}),
    11: ("revise_market", {"market": "u32", "questions": "opt<texts>",
                           "descriptions": "opt<texts>", "yes_text": "opt<texts>",
                           "no_text": "opt<texts>", "logo": "opt<text>",
                           "deadline": "opt<i64>", "categories": "opt<list<u32>>",
                           "highlighted": "opt<bool>",
                           "maker_fee": "opt<u16>", "taker_fee": "opt<u16>"}),
    12: ("publish_market", {"market": "u32"}),
    13: ("suspend_market", {"market": "u32"}),
    14: ("reopen_market", {"market": "u32", "deadline": "opt<i64>"}),
    15: ("close_market", {"market": "u32"}),
    16: ("resolve_market", {"market": "u32", "winner": "u8"}),
    17: ("dispute_market", {"market": "u32"}),
    18: ("void_market", {"market": "u32", "price": "u8"}),
    19: ("place_order", {"user": "u32", "market": "u32", "outcome": "u8", "side": "u8",
                         "price": "u8", "quantity": "u64", "time_in_force": "u8",
                         "expires_at": "opt<i64>", "self_trade": "u8", "condition": "u8",
                         "valid_until": "opt<i64>", "copy_from": "opt<u32>",
                         "client_order_id": "opt<text>"}),
    20: ("amend_order", {"user": "u32", "order": "u64", "price": "opt<u8>",
                         "quantity": "opt<u64>"}),
    21: ("cancel_order", {"user": "u32", "order": "u64"}),
    22: ("cancel_orders", {"user": "u32", "market": "opt<u32>"}),
    23: ("advance_clock", {}),
    24: ("heartbeat", {"user": "u32", "timeout_seconds": "u32"}),
    25: ("set_venue_mode", {"mode": "u8"}),
    26: ("set_user_mode", {"user": "u32", "mode": "u8"}),
    27: ("set_exposure_limit", {"user": "u32", "limit": "opt<i64>"}),
    28: ("convert", {"user": "u32", "event": "u32", "markets": "list<u32>", "quantity": "u64"}),
    29: ("take_fees", {"user": "u32", "amount": "i64"}),
}
KINDS[30] = ("replace_order", {"replaced": "u64", **KINDS[19][1]})
PASSWORD = {"scheme": "u8", "salt": "bytes32", "hashed": "bytes32"}
KINDS.update({
    31: ("invite", {"user": "u32", "role": "u8", "invitation": "bytes32", "ends": "i64"}),
    32: ("sign_up", {"name": "text", **PASSWORD}),
    33: ("set_password", {"user": "u32", "invitation": "opt<bytes32>", "name": "text",
                          **PASSWORD}),
    34: ("sign_in", {"user": "u32", "password_set": "i64", "session": "bytes32", "until": "i64",
                     "ends": "i64"}),
    35: ("extend_session", {"user": "u32", "session": "bytes32", "until": "i64"}),
    36: ("sign_out", {"user": "u32", "session": "opt<bytes32>"}),
    40: ("set_second_factor", {"user": "u32", "password_salt": "bytes32", "factor_salt": "bytes32",
                               "sealed": "bytes32", "used": "i64", "recovery": "list<bytes32>"}),
    43: ("clear_second_factor", {"user": "u32"}),
    44: ("change_password", {"user": "u32", "password_before": "bytes32", "factor_before": "bytes32",
                             **PASSWORD, "factor_salt": "bytes32", "sealed": "bytes32",
                             "session": "bytes32", "until": "i64", "ends": "i64"}),
})
KINDS.update({
    46: ("ask_deposit", {"user": "u32", "amount": "i64", "reference": "opt<text>"}),
    47: ("ask_withdrawal", {"user": "u32", "amount": "i64", "reference": "opt<text>"}),
    49: ("set_two_persons", {"above": "opt<i64>"}),
    50: ("confirm_proposal", {"operator": "u32", "proposal": "u64"}),
    51: ("drop_proposal", {"operator": "u32", "proposal": "u64"}),
    52: ("file_dispute", {"user": "u32", "market": "u32", "bond": "i64", "reason": "text"}),
    48: ("end_transfer", {"user": "u32", "transfer": "u64", "how": "u8"}),
    53: ("rename_user", {"user": "u32", "profile_name": "text"}),
})
KINDS[41] = ("sign_in_by_code", {**KINDS[34][1], "used": "i64"})
KINDS[42] = ("sign_in_by_recovery", {**KINDS[34][1], "recovery_code": "bytes32"})
# The idempotency key, before the fields of a record with flag 1.
ONCE = {"caller": "u32", "key": "text", "part": "u8", "body": "bytes32"}
# An operator's act, before the fields of a record with flag 2, after the idempotency key.
ACT = {"actor": "u32", "key": "opt<u32>", "reason": "opt<text>", "reference": "opt<text>",
       "evidence": "opt<text>", "evidence_hash": "opt<bytes32>"}
# Ranges by field; a price of void_market may also be 0 or 100.
RANGES = {"role": (1, 7), "outcome": (1, 2), "winner": (1, 2), "side": (1, 2), "price": (1, 99),
          "time_in_force": (1, 3), "self_trade": (1, 3), "condition": (1, 4),
          "quantity": (1, ORDER_LOTS_MAX), "amount": (1, 2**63 - 1), "deadline": (0, TIME_MAX),
          "seen_price": (1, 99), "seen_quantity": (1, ORDER_LOTS_MAX),
          "mode": (1, 3), "how": (1, 3), "limit": (0, 2**63 - 1), "above": (0, 2**63 - 1), "bond": (0, 2**63 - 1), "expires_at": (0, TIME_MAX), "valid_until": (0, TIME_MAX),
          "ends": (0, TIME_MAX), "until": (0, TIME_MAX), "password_set": (0, TIME_MAX),
          "used": (0, TIME_MAX),
          "scheme": (1, 2),
          "venue_open_orders_max": (0, VENUE_OPEN_ORDERS_CEILING),
          "money_supply_max": (1, MONEY_SUPPLY_CEILING)}


class Damaged(Exception):
    """The journal violates its format."""


def check(holds, what):
    if not holds:
        raise Damaged(what)


def take(body, at, count):
    check(at + count <= len(body), "the bytes end inside a field")
    return body[at:at + count], at + count


def value(kind, body, at):
    """Decodes a value of this type at an offset; returns it and the offset after it."""
    if kind in INTEGERS:
        raw, at = take(body, at, struct.calcsize(INTEGERS[kind]))
        return struct.unpack(INTEGERS[kind], raw)[0], at
    if kind == "bytes32":
        raw, at = take(body, at, 32)
        return raw.hex(), at
    if kind == "bool":
        raw, at = take(body, at, 1)
        check(raw in (b"\0", b"\1"), "a bool is 0 or 1")
        return raw == b"\1", at
    if kind == "text":
        length, at = value("u64", body, at)
        raw, at = take(body, at, length)
        return raw.decode("utf-8"), at
    if kind == "texts":
        texts = {}
        for language in ("pt", "en", "es"):
            texts[language], at = value("text", body, at)
        return texts, at
    outer, inner = kind[:-1].split("<", 1)
    if outer == "opt":
        there, at = value("bool", body, at)
        return value(inner, body, at) if there else (None, at)
    count, at = value("u64", body, at)
    check(count <= len(body), "a list longer than its record")
    items = []
    for _ in range(count):
        item, at = value(inner, body, at)
        items.append(item)
    return items, at


def is_token(text):
    return 1 <= len(text) <= 64 and all("!" <= c <= "~" for c in text)


def is_slug(text):
    words = re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", text) and len(text) <= 80
    bare = text.replace("-", "")
    form = "-".join((bare[:8], bare[8:12], bare[12:16], bare[16:20], bare[20:]))
    return words and not (re.fullmatch("[0-9a-f]{32}", bare) and text in (bare, form))


# (number, version): {field: type}
FURTHER = {
    (20, 2): {"user": "u32", "order": "u64", "price": "opt<u8>", "quantity": "opt<u64>",
              "seen_price": "u8", "seen_quantity": "u64", "seen_filled": "u64"},
    **{(kind, 2): {**KINDS[kind][1], "group": "text"} for kind in (19, 22, 24, 30)},
    **{(kind, 2): {**KINDS[kind][1], "slug": "text"} for kind in (8, 9, 10, 11)},
    **{(kind, 3): {**KINDS[kind][1], "group": "opt<text>", "key": "u32"}
       for kind in (19, 22, 30)},
    (3, 2): {**KINDS[3][1], "ends": "i64"},
}


def record(body, kind, version, flags):
    check(kind in KINDS, f"unknown kind {kind}")
    name, types = KINDS[kind]
    check(version == 1 or (kind, version) in FURTHER, f"unknown version {version} of {name}")
    types = FURTHER.get((kind, version), types)
    check(flags in range(4), f"unknown flags {flags} of {name}")
    once, act, fields, at = None, None, {}, 0
    if flags & 1:
        once = {}
        for field, type_ in ONCE.items():
            once[field], at = value(type_, body, at)
        check(is_token(once["key"]), "once.key is no key")
    if flags & 2:
        act = {}
        for field, type_ in ACT.items():
            act[field], at = value(type_, body, at)
        check(act["reference"] is None or is_token(act["reference"]), "act.reference is no token")
        for field, most in (("reason", 2000), ("evidence", 2048)):
            text = act[field]
            check(text is None or 1 <= len(text.encode()) <= most, f"act.{field} is out of range")
    for field, type_ in types.items():
        fields[field], at = value(type_, body, at)
        if field in RANGES and fields[field] is not None:
            low, high = (0, 100) if kind == 18 else RANGES[field]
            check(low <= fields[field] <= high, f"{name}.{field} is out of range")
    check(at == len(body), f"{len(body) - at} bytes follow the last field")
    if kind in (19, 30):
        check(fields["time_in_force"] == 1 or fields["expires_at"] is None, "expiry without GTC")
        client = fields["client_order_id"]
        check(client is None or is_token(client), "client_order_id")
    if fields.get("group") is not None:
        check(len(fields["group"]) <= 32 and is_token(fields["group"]), "group")
    if "slug" in fields and kind != 7:
        check(is_slug(fields["slug"]), "slug")
    if kind in (32, 33):
        check(is_token(fields["name"]), "name")
    if kind == 40:
        check(len(fields["recovery"]) <= 10, "recovery")
    if "seen_filled" in fields:
        check(fields["seen_filled"] < fields["seen_quantity"], "seen_filled")
    if kind == 1:
        currency = fields["currency"]
        check(3 <= len(currency) <= 8 and all("A" <= c <= "Z" for c in currency), "currency")
    return name, once, act, fields


def read(file):
    """Yields each record with its block; raises Damaged at the first fault."""
    sequence, previous, time = 0, bytes(32), 0
    # The ends of blocks that a block may record results up to: not before the last recorded one.
    ends = [0]
    while header := file.read(BLOCK_HEADER.size):
        check(len(header) == BLOCK_HEADER.size, "the file ends inside a block header")
        (magic, version, flags, count, first, length, crc, before, through,
         results) = BLOCK_HEADER.unpack(header)
        check(magic == b"OPOUTCRY", "no block begins here")
        check(version == 1 and flags == 0, "unknown block version or flags")
        check(BLOCK_HEADER.size + length <= BLOCK_BYTES_MAX, "block too long")
        body = file.read(length)
        check(len(body) == length, "the file ends inside a block")
        check(zlib.crc32(body, zlib.crc32(header[32:], zlib.crc32(header[:28]))) == crc,
              "checksum mismatch")
        check(first == sequence + 1, f"record {sequence + 1} is next, block begins with {first}")
        check(before == previous, "the chain is broken")
        check(through in ends, f"results up to record {through} cannot be recorded here")
        check((through == 0) == (results == bytes(32)), "results of no record")
        ends = ends[ends.index(through):]
        previous = hashlib.sha256(header + body).digest()
        at, records = 0, 0
        while at < length:
            raw, at = take(body, at, RECORD_HEADER.size)
            size, kind, body_version, flags, stamp = RECORD_HEADER.unpack(raw)
            raw, at = take(body, at, size)
            check(time <= stamp <= TIME_MAX, "time runs backwards or out of range")
            name, once, act, fields = record(raw, kind, body_version, flags)
            sequence, time, records = sequence + 1, stamp, records + 1
            yield {"sequence": sequence, "time_ms": time, "kind": name, "once": once,
                   "act": act, "fields": fields, "block": first, "hash": previous.hex(),
                   "results_through": through, "results": results.hex()}
        check(records == count and count > 0, "the header counts other records than follow")
        ends.append(sequence)


def main():
    if len(sys.argv) != 2:
        print("usage: journal_reader.py FILE, a file of `openoutcry-replay export`", file=sys.stderr)
        return 2
    path = sys.argv[1]
    if os.path.isdir(path):
        print(f"{path} is a folder; of an archive or a data directory, make a file first: "
              f"openoutcry-replay export {path} journal.blocks.gz", file=sys.stderr)
        return 2
    try:
        with open(path, "rb") as file:
            begins = file.read(2)
        # The compressed form is the same blocks in gzip.
        file = gzip.open(path) if begins == b"\x1f\x8b" else open(path, "rb")
    except OSError as error:
        print(f"cannot read {path}: {error.strerror}", file=sys.stderr)
        return 1
    if not begins:
        print(f"JOURNAL_EMPTY: {path} is empty; it is no journal", file=sys.stderr)
        return 3
    with file:
        try:
            for line in read(file):
                print(json.dumps(line))
        except (Damaged, UnicodeDecodeError, EOFError, OSError, zlib.error) as fault:
            print(f"damaged before byte {file.tell()}: {fault}", file=sys.stderr)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
