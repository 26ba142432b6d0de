"""schemathesis, with three of its own failures kept from ending a run, and told what a slug is.

None of them weakens a check of the server: the first two concern how the tool finds and fills links
in answers, the third, before Python 3.12, how it names its own filters. The last is about slugs.
"""

import ast
import gc
import sys
import threading

from schemathesis.cli import schemathesis
from schemathesis.core.transforms import UNRESOLVABLE
from schemathesis.engine import observations
from schemathesis.specs.openapi import checks, expressions

# A text in an answer that begins like a URL but is invalid makes the tool fail; it is no link.
same_origin_path = observations._same_origin_path


def same_origin_path_or_none(value, origin):
    try:
        return same_origin_path(value, origin)
    except ValueError:
        return None


observations._same_origin_path = same_origin_path_or_none

# A null in an answer (a market in no event) is no link. The tool would ask for the event `None`,
# take that for a well-formed id, and report the server's refusal.
evaluate_wildcard = expressions.evaluate_wildcard


def evaluate_unless_null(expression, output):
    value = evaluate_wildcard(expression, output)
    if isinstance(value, expressions.MultiMatch):
        value.values = [each for each in value.values if each is not None]
        return value if value.values else UNRESOLVABLE
    return UNRESOLVABLE if value is None else value


expressions.evaluate_wildcard = evaluate_unless_null

# Before 3.12, parsing in two threads at once, or a garbage collection meanwhile, corrupts the
# parser's recursion depth (python/cpython issue 106905).
parse = ast.parse
parsing = threading.RLock()


def parse_alone(*args, **kwargs):
    with parsing:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return parse(*args, **kwargs)
        finally:
            if collecting:
                gc.enable()


if sys.version_info < (3, 12):
    ast.parse = parse_alone

# Where an id stands, a slug does, too; one that nothing is called is no id. A schema cannot say which
# slugs there are.
accepts = checks._openapi_positive_data_acceptance


def accepts_but_for_slugs(ctx, response, case):
    if response.status_code == 400:
        faults = response.json().get("errors", [])
        unknown = [fault["field"] in ("marketId", "eventId", "marketIds") for fault in faults]
        if faults and all(unknown) and all(f["detail"].startswith("must be a UUID") for f in faults):
            return None
    return accepts(ctx, response, case)


checks._openapi_positive_data_acceptance = accepts_but_for_slugs

schemathesis()
