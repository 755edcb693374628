"""Compares what an HTTP API answered with what was recorded, by the rules of the recordings themselves.

Reads {"fixtures", "replaced", "cases": [{"recorded", "seen"}]} and writes for each case {"equal", "diff"}.
"""

import difflib
import importlib.util
import json
import os
import re
import sys

# As compare.py of the transcripts: of the Python in use, not of Salt.
MARKS = re.compile(r"(?:(?<=\n)|(?<=\\n)) *[~^][~^ ]*(?:\n|\\n)")
SALT = [os.path.dirname(importlib.util.find_spec("salt").origin), "<SALT>"]
TOKEN = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b|<HEX(?:64|40)>")
FINGER = re.compile(r"\b(?:[0-9a-f]{2}:){31}[0-9a-f]{2}\b")
PAGE = re.compile(r"<h2>(.*?)</h2>\s*<p>(.*?)</p>", re.S)
# Beside these the recording kept no body: it depends on the server or is an archive.
KEPT = {None, "grains"}
HEADERS = (
    "allow",
    "cache-control",
    "content-disposition",
    "content-type",
    "retry-after",
    "www-authenticate",
    "x-auth-token",
)


def shortened(body):
    """As the recording has the error pages of the web server."""
    page = PAGE.search(body) if "<html" in body.lower() else None
    return f"html-error: {page[1].strip()}: {page[2].strip()}" if page else body


def only_recorded_grains(body, recorded):
    seen, wanted = json.loads(body), json.loads(recorded)
    for mine, theirs in zip(seen["return"], wanted["return"]):
        for minion, grains in mine.items():
            kept = theirs.get(minion, {})
            if isinstance(grains, dict):
                mine[minion] = {name: grains[name] for name in kept if name in grains}
    return json.dumps(seen, ensure_ascii=True)


def shown(case, recorded, replaced, rules):
    body = shortened(case["body"])
    trim = recorded.get("trim")
    if trim == "grains" and case is not recorded:
        body = only_recorded_grains(body, recorded["body"])
    elif trim not in KEPT or recorded.get("unstable"):
        body = ""
    body = MARKS.sub("", TOKEN.sub("<TOKEN>", rules.normalise(body, replaced)))
    if recorded.get("hide_fingers"):
        body = FINGER.sub("<FINGER>", body)
    headers = {name.lower(): value for name, value in case["headers"].items()}
    kept = {name: TOKEN.sub("<TOKEN>", headers[name]) for name in HEADERS if name in headers}
    return {"request": recorded["request"], "status": case["status"], "headers": kept, "body": body}


def judged(recorded, seen, replaced, rules):
    one, other = (shown(case, recorded, replaced, rules) for case in (recorded, seen))
    wanted, came = rules.canonical(one), rules.canonical(other)
    lines = [json.dumps(part, indent=1, sort_keys=True).split("\n") for part in (wanted, came)]
    diff = "" if wanted == came else "\n".join(difflib.unified_diff(*lines, lineterm="", n=0))
    return {"equal": wanted == came, "diff": diff}


def main():
    given = json.load(sys.stdin)
    sys.path.insert(0, given["fixtures"])
    import normalise as rules

    replaced = [*given["replaced"], SALT]
    cases = [(case["recorded"], case["seen"]) for case in given["cases"]]
    json.dump([judged(*case, replaced, rules) for case in cases], sys.stdout)


if __name__ == "__main__":
    main()
