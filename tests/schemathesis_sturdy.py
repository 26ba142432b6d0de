"""schemathesis, with two of its own failures kept from ending a run on Python 3.11.

Neither asks less of the server: the first is about where links are looked for in answers, the
second about how the tool names its own filters.
"""

import ast
import gc
import sys
import threading

from schemathesis.cli import schemathesis
from schemathesis.engine import observations

# A text in an answer that begins like a URL and is none is no link; the tool would stop over it.
same_origin_path = observations._same_origin_path


def same_origin_path_or_none(value, origin):
    try:
        return same_origin_path(value, origin)
    except ValueError:
        return None


observations._same_origin_path = same_origin_path_or_none

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
