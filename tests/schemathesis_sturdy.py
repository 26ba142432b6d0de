"""schemathesis, with three of its own failures kept from ending a run.

None asks less of the server: the first two are about where links are looked for in answers and what
they are given, the third, on Python 3.11, about how the tool names its own filters.
"""

import ast
import gc
import sys
import threading

from schemathesis.cli import schemathesis
from schemathesis.core.transforms import UNRESOLVABLE
from schemathesis.engine import observations
from schemathesis.specs.openapi import expressions

# A text in an answer that begins like a URL and is none is no link; the tool would stop over it.
same_origin_path = observations._same_origin_path


def same_origin_path_or_none(value, origin):
    try:
        return same_origin_path(value, origin)
    except ValueError:
        return None


observations._same_origin_path = same_origin_path_or_none

# What an answer says is null (a market in no event) leads nowhere. The tool would ask for the event
# `None`, call that a well-formed id, and blame the server for refusing it.
evaluate_wildcard = expressions.evaluate_wildcard


def evaluate_unless_null(expression, output):
    value = evaluate_wildcard(expression, output)
    if isinstance(value, expressions.MultiMatch):
        value.values = [each for each in value.values if each is not None]
        return value if value.values else UNRESOLVABLE
    return UNRESOLVABLE if value is None else value


expressions.evaluate_wildcard = evaluate_unless_null

# Below 3.12 two threads that parse at once, or a collection meanwhile, spoil the parser's count of
# its own depth (python/cpython issue 106905).
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

schemathesis()
