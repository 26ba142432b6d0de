"""Every metric that the alerts and the dashboard name must be in the text of the given file."""

import json
import re
import sys

told = {re.split(r"[{ ]", line)[0] for line in open(sys.argv[1]) if line[0] not in "#\n"}
text = open("contrib/prometheus/rules.yml").read()
dashboard = json.load(open("contrib/grafana/openoutcry.json"))
for panel in dashboard["panels"]:
    text += "".join(f"\n{target['expr']}" for target in panel.get("targets", []))
text += json.dumps(dashboard["templating"])
named = set(re.findall(r"\b(?:openoutcry|process)_[a-z0-9_]+", text))
assert len(named) > 40, named
missing = sorted(named - told)
assert not missing, f"named, but not told by the server: {missing}"
print(f"each of {len(named)} metrics named is told")
