"""Calls functions of Salt's own returner pgjsonb, in Salt's own loader.

Arguments: a master's configuration file and options over it as JSON. Standard input: one call a
line, [name, arguments]. Prints the results as a JSON list; what Salt logs goes to standard error.
"""

import json
import logging
import sys

import salt.config
import salt.minion

logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="LOG %(name)s %(message)s")
opts = salt.config.master_config(sys.argv[1])
opts.update(json.loads(sys.argv[2]))
mminion = salt.minion.MasterMinion(opts, states=False, rend=False)
results = []
for line in sys.stdin:
    name, args = json.loads(line)
    results.append(mminion.returners[f"pgjsonb.{name}"](*args))
print(json.dumps(results))
