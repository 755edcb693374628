"""Writes log lines with Salt's own records and Python's formatter: JSON lines in and out."""

import json
import logging
import sys

import salt._logging.impl as impl

for line in sys.stdin:
    case = json.loads(line)
    record = impl.SaltColorLogRecord(
        case["name"], logging.getLevelName(case["level"]), "x", 0, case["message"], (), None
    )
    # The record takes its process from the running one; Salt's bracket forms are made from it.
    record.process = case["pid"]
    record.bracketprocess = f"[{str(record.process):>5}]"
    plain = impl.SaltLogRecord.__init__.__globals__["TextFormat"]
    record.colorprocess = "{}[{:>5}]{}".format(
        impl.LOG_COLORS["process"], str(record.process), plain("reset")
    )
    record.created = case["ms"] / 1000
    record.msecs = float(case["ms"] % 1000)
    record.jid = case["logFmtJid"] % {"jid": case["jid"]} if case["jid"] else ""
    record.minion_id = case["logFmtMinionId"] % {"minion_id": case["minion"]}
    try:
        text = logging.Formatter(case["format"], datefmt=case["dateFormat"]).format(record)
        print(json.dumps({"text": text}))
    except (KeyError, ValueError, TypeError) as error:
        print(json.dumps({"refused": str(error)}))
