"""Compares what commands did with what was recorded, by the rules of the recordings themselves.

Reads {"fixtures", "ours", "cases": [{"recorded", "seen"}]} and writes for each case
{"equal", "exitEqual", "diff", "seen"}. "ours" says that Brine's own commands ran: texts of documentation
are Brine's own, so what follows "Usage:" is not compared.
"""

import difflib
import importlib.util
import json
import os
import re
import sys
import sysconfig

DIFF_LINES = 60
FINGER = re.compile(r"\b(?:[0-9a-f]{2}:){31}[0-9a-f]{2}\b")
# The recordings leave out the texts of help pages and the dump of the configuration.
LEFT_OUT = "<USAGE>\n"
# They keep the beginning of a long text.
CUT = re.compile(r"^<\d+ more lines of the same kind>$")
# Of the Python in use and its installer, not of Salt: marks below a line of a stack, and the place
# in the program that pip made.
MARKS = re.compile(r"(?:(?<=\n)|(?<=\\n)) *[~^][~^ ]*(?:\n|\\n)")
PROGRAM = re.compile(r'(File \\?"salt[\w-]*\\?", line )\d+')
# Minions in the order in which they answered. normalise.py sorts them too, but not within JSON.
RAN_ON = re.compile(r"(\bran on )([\w., -]+?)\.(?=[\"'\n]|$)")
DOCUMENTATION = re.compile(r"(?:(?<=\n)|(?<=\\n))Usage:(?:\n|\\n)[\s\S]*")


def shown(case, given, rules, ours):
    """The case with normalised texts."""
    replaced = given["replaced"] + [
        [os.path.dirname(importlib.util.find_spec("salt").origin), "<SALT>"],
        [sysconfig.get_path("stdlib"), "<PYLIB>"],
    ]

    def normal(text, recorded):
        text = rules.normalise(text, replaced)
        if "<FINGER>" in recorded:
            text = FINGER.sub("<FINGER>", text)
        text = PROGRAM.sub(r"\1<N>", MARKS.sub("", text))
        text = RAN_ON.sub(lambda m: m[1] + ", ".join(sorted(m[2].split(", "))) + ".", text)
        return DOCUMENTATION.sub("<USAGE>\n", text) if ours else text

    return {
        "exit": given["exit"],
        "stdout": normal(given["stdout"], case["stdout"]),
        "stderr": normal(given["stderr"], case["stderr"]),
        "files": {k: normal(v, case["files"][k]) for k, v in given.get("files", {}).items()},
    }


def beginning(text, wanted):
    """As much of a text as the recording has of its own."""
    kept = wanted.split("\n")
    at = next((at for at, line in enumerate(kept) if CUT.match(line)), None)
    return text if at is None else "\n".join(text.split("\n")[:at] + kept[at:])


def judged(case, given, rules, ours):
    wanted = shown(case, {**case, "replaced": []}, rules, ours)
    seen = shown(case, given, rules, ours)
    if wanted["stdout"] == LEFT_OUT and seen["stdout"].strip():
        seen["stdout"] = LEFT_OUT
    seen["stdout"] = beginning(seen["stdout"], wanted["stdout"])
    exit_equal = case["exit"] == given["exit"]
    if case.get("unstable"):
        equal = exit_equal and bool(wanted["stdout"].strip()) == bool(seen["stdout"].strip())
    else:
        equal = rules.canonical(wanted) == rules.canonical(seen)
    return {
        "equal": equal,
        "exitEqual": exit_equal,
        "diff": "" if equal else difference(wanted, seen),
        "seen": {**seen, "files": seen["files"] or None},
    }


def difference(wanted, seen):
    lines = []
    if wanted["exit"] != seen["exit"]:
        lines.append(f"exit {wanted['exit']} -> {seen['exit']}")
    texts = [(name, wanted[name], seen[name]) for name in ("stdout", "stderr")]
    texts += [(name, wanted["files"][name], seen["files"][name]) for name in seen["files"]]
    for name, old, new in texts:
        if old == new:
            continue
        lines.append(f"{name}:")
        diff = difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=1)
        lines += [line for line in diff if not line.startswith(("---", "+++"))]
    if len(lines) > DIFF_LINES:
        lines[DIFF_LINES:] = [f"... {len(lines) - DIFF_LINES} more lines"]
    return "\n".join(lines)


def main():
    given = json.load(sys.stdin)
    sys.path.insert(0, given["fixtures"])
    import normalise as rules

    cases = given["cases"]
    json.dump([judged(c["recorded"], c["seen"], rules, given["ours"]) for c in cases], sys.stdout)


if __name__ == "__main__":
    main()
