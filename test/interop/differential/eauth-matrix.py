"""Asks a master what users may do, with Salt's own clients: JSON lines in, JSON lines out."""

import json
import logging
import sys

import salt.auth
import salt.client
import salt.config
import salt.runner
import salt.wheel

logging.disable(logging.CRITICAL)

OPTS = salt.config.client_config(sys.argv[1])
CLIENT = salt.client.LocalClient(mopts=OPTS)
ROOT = (CLIENT.salt_user, CLIENT.key)


def credentials(case):
    """What goes with the request; for a local user the key file that is his."""
    CLIENT.salt_user, CLIENT.key = ROOT
    if "key_of" in case:
        CLIENT.salt_user = case["user"]
        with open(f"{OPTS['cachedir']}/.{case['key_of']}_key", encoding="ascii") as key:
            CLIENT.key = key.read()
        return {"key": CLIENT.key, "user": case["user"]}
    who = {"eauth": "file", "username": case["user"], "password": case["password"]}
    if not case.get("token"):
        return who
    made = salt.auth.Resolver(OPTS).mk_token(dict(who))
    return {"token": made["token"] if made else "0" * 64}


def publish(case):
    who = credentials(case)
    if "key_of" in case:
        who = {}
    found = CLIENT.run_job(
        case["tgt"],
        case["fun"],
        case.get("arg", []),
        case.get("tgt_type", "glob"),
        listen=False,
        timeout=20,
        kwarg=case.get("kwarg"),
        **who,
    )
    return sorted(found["minions"]) if found else "nobody"


def runner(case):
    load = {"fun": case["fun"], "arg": case.get("arg", []), **credentials(case)}
    found = salt.runner.RunnerClient(OPTS).cmd_async(load)
    return sorted(found)


def wheel(case):
    load = {"fun": case["fun"], "match": "web1", **credentials(case)}
    found = salt.wheel.WheelClient(OPTS).cmd_sync(load)
    data = found["data"]
    # One that failed has been an event, which is stamped.
    fields = sorted(set(data) - {"_stamp"})
    return [fields, data["success"], data["return"] if data["success"] else ""]


ASK = {"publish": publish, "runner": runner, "wheel": wheel}
for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = ASK[question["ask"]](question)
    except Exception as exc:  # pylint: disable=broad-except
        answer = f"{type(exc).__name__}: {exc}"
    # Some clients print what they do.
    print("ANSWER " + json.dumps(answer), flush=True)
