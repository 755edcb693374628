"""Answers target questions with Salt's own matchers: JSON lines in, JSON lines out."""

import json
import logging
import re
import sys

import salt.matchers.compound_match
import salt.matchers.glob_match
import salt.matchers.grain_match
import salt.matchers.grain_pcre_match
import salt.matchers.ipcidr_match
import salt.matchers.list_match
import salt.matchers.pcre_match
import salt.matchers.pillar_exact_match
import salt.matchers.pillar_match
import salt.matchers.pillar_pcre_match
import salt.matchers.resource_match
import salt.matchers.managing_minion_match
import salt.utils.minions

logging.disable(logging.CRITICAL)

NAMES = (
    "glob list pcre grain grain_pcre pillar pillar_pcre pillar_exact ipcidr compound"
    " resource managing_minion"
).split()
MATCHERS = {f"{n}_match.match": getattr(salt.matchers, f"{n}_match").match for n in NAMES}
for name in NAMES:
    module = getattr(salt.matchers, f"{name}_match")
    module.__opts__ = {}
    module.__context__ = {"matchers": MATCHERS}


def minion_side(case):
    """As salt/minion.py Minion._target_load."""
    load, facts = case["target"], case["facts"]
    opts = {**facts, "resources": {}}
    func = MATCHERS.get(load["tgt_type"] + "_match.match")
    try:
        if load["tgt_type"] in ("grain", "grain_pcre", "pillar"):
            return bool(func(load["tgt"], delimiter=load.get("delimiter", ":"), opts=opts))
        return bool(func(load["tgt"], opts=opts))
    except Exception:
        return False


class Cache:
    def __init__(self, banks):
        self.banks = banks

    def list(self, bank):
        return list(self.banks.get(bank, {}))

    def fetch(self, bank, key):
        return self.banks.get(bank, {}).get(key)


class Key:
    def __init__(self, ids):
        self.ids = ids

    def list_status(self, _status):
        return {"minions": self.ids}


class CkMinions(salt.utils.minions.CkMinions):
    registry = None

    def __init__(self, case):  # pylint: disable=super-init-not-called
        cached = case.get("dataCache", True)
        self.opts = {"minion_data_cache": cached, "nodegroups": case["nodegroups"]}
        self.cache = Cache(case["banks"])
        self.key = Key(case["accepted"])


def master_side(case):
    load = case["target"]
    found = CkMinions(case).check_minions(
        load["tgt"],
        load["tgt_type"],
        delimiter=load.get("delimiter", ":"),
        greedy=case.get("greedy", True),
    )
    return {"minions": sorted(set(found["minions"])), "missing": sorted(set(found["missing"]))}


def regex(case):
    try:
        return bool(re.match(case["pattern"], case["text"]))
    except Exception:
        return None


ANSWERS = {"minion": minion_side, "master": master_side, "regex": regex}
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps(ANSWERS[question["ask"]](question)))
