"""Whom the master of Salt 3007 expects: JSON lines in, JSON lines out.

The argument is a Python with a newer Salt, which compares grains and pillar.
"""

import importlib.util
import json
import logging
import os
import subprocess
import sys
import tempfile

import salt.utils.data
import salt.utils.minions

FIND = "import salt.utils.data as data; print(data.__file__)"
NEWER = subprocess.check_output([sys.argv[1], "-c", FIND], text=True).strip()
SPEC = importlib.util.spec_from_file_location("newer_data", NEWER)
newer_data = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(newer_data)
salt.utils.data.subdict_match = newer_data.subdict_match

logging.disable(logging.CRITICAL)
PKI = tempfile.TemporaryDirectory()


class Cache:
    """Grains and pillar of a minion are one record, as 3007 keeps them."""

    def __init__(self, banks):
        self.banks = banks

    def list(self, _bank):
        return list(self.banks["grains"])

    def fetch(self, bank, _key):
        minion = bank.split("/", 1)[1]
        if minion not in self.banks["grains"]:
            return None
        return {name: self.banks[name].get(minion) for name in ("grains", "pillar")}


class CkMinions(salt.utils.minions.CkMinions):
    def __init__(self, case):  # pylint: disable=super-init-not-called
        self.opts = {
            "minion_data_cache": case["dataCache"],
            "nodegroups": case["nodegroups"],
            "key_cache": "",
        }
        self.cache = Cache(case["banks"])
        self.pki_dir = PKI.name
        self.acc = "minions"


def accept(ids):
    folder = os.path.join(PKI.name, "minions")
    os.makedirs(folder, exist_ok=True)
    for name in set(os.listdir(folder)) - set(ids):
        os.remove(os.path.join(folder, name))
    for name in ids:
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass


for line in sys.stdin:
    question = json.loads(line)
    load = question["target"]
    accept(question["accepted"])
    found = CkMinions(question).check_minions(
        load["tgt"],
        load["tgt_type"],
        delimiter=load.get("delimiter", ":"),
        greedy=question["greedy"],
    )
    print(json.dumps({name: sorted(set(found[name])) for name in ("minions", "missing")}))
