"""Answers questions about rights with Salt's own code: JSON lines in, JSON lines out."""

import json
import logging
import sys

import salt.utils.master
import salt.utils.minions

logging.disable(logging.CRITICAL)


class Key:
    def __init__(self, ids):
        self.ids = ids

    def list_status(self, _status):
        return {"minions": self.ids}


class Cache:
    def list(self, _bank):
        return []

    def fetch(self, _bank, _key):
        return {}


class CkMinions(salt.utils.minions.CkMinions):
    registry = None

    def __init__(self, case):  # pylint: disable=super-init-not-called
        self.opts = {"minion_data_cache": True, "nodegroups": {}, "permissive_acl": False}
        self.cache = Cache()
        self.key = Key(case.get("accepted", []))


def publish(case):
    return bool(
        CkMinions(case).auth_check(
            case["acl"],
            case["fun"],
            case["arg"],
            case["tgt"],
            "glob",
            minions=case["minions"],
            whitelist=["saltutil.find_job"],
        )
    )


def call(case):
    found = CkMinions(case).spec_check(case["acl"], case["fun"], case["given"], case["form"])
    return "misspelt" if isinstance(found, dict) else bool(found)


def granted(case):
    return CkMinions(case).fill_auth_list(case["provider"], case["name"], case["groups"])


def local(case):
    return salt.utils.master.get_values_of_matching_keys(case["acl"], case["name"])


ANSWERS = {"publish": publish, "call": call, "granted": granted, "local": local}
for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = ANSWERS[question["ask"]](question)
    except Exception as exc:  # pylint: disable=broad-except
        answer = {"raised": type(exc).__name__}
    print(json.dumps(answer))
