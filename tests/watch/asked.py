"""Asks Prometheus at the given address whether the scrape works, and each of the dashboard's
questions."""

import json
import sys
import time
import urllib.parse
import urllib.request

ADDRESS = sys.argv[1]
# What shows only faults, or comes from node_exporter, has no answer here.
MAY_BE_EMPTY = ("> 0", "node_filesystem", "_drill_", 'status=~"5..')


def get(path, **query):
    url = f"{ADDRESS}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]


def target():
    try:
        targets = get("targets")["activeTargets"]
    except OSError:
        return None
    return next((one for one in targets if one["labels"]["job"] == "openoutcry"), None)


for _ in range(120):
    found = target()
    if found and found["health"] == "up" and get("query", query="process_cpu_seconds_total offset 5s")["result"]:
        break
    time.sleep(0.5)
else:
    sys.exit(f"the server is not scraped: {found}")
with open("contrib/grafana/openoutcry.json") as file:
    panels = json.load(file)["panels"]
asked = 0
for panel in panels:
    for one in panel.get("targets", []):
        query = one["expr"].replace("$instance", ".*").replace("$__rate_interval", "30s")
        result = get("query", query=query)["result"]
        asked += 1
        if not result and not any(part in query for part in MAY_BE_EMPTY):
            sys.exit(f"{panel['title']}: no answer to {query}")
version = get("status/buildinfo")["version"]
print(f"Prometheus {version} scrapes the server and answers {asked} questions of the dashboard")
