"""Shows values with Salt's own outputters: JSON lines in and out."""

import json
import logging
import sys

import salt.config
import salt.loader
import salt.output
import salt.payload

logging.disable(logging.CRITICAL)
REAL_OUTPUTTERS = salt.loader.outputters


def loaded(given):
    """The outputters with these options. Making them takes longer than all displays of a value."""
    for name in [name for name in sys.modules if name.startswith("salt.loaded.")]:
        del sys.modules[name]
    opts = salt.config.DEFAULT_MASTER_OPTS.copy()
    opts.pop("output", None)
    opts.update(given)
    opts["extension_modules"] = ""
    outputters = REAL_OUTPUTTERS(opts)
    salt.loader.outputters = lambda _opts: outputters
    return opts


def show(case, out, opts):
    # Some outputters change the data that they show.
    data = salt.payload.loads(bytes.fromhex(case["packed"]))
    try:
        text = salt.output.try_printout(data, out, dict(opts), _retcode=case["retcode"])
        return {"text": text}
    except Exception as error:  # pylint: disable=broad-except
        return {"error": type(error).__name__}


cases = [json.loads(line) for line in sys.stdin]
answers = [[None] * len(case["forms"]) for case in cases]
# The modules of outputters hold the options of one loader: a set of options after the other.
for at, form in enumerate(cases[0]["forms"] if cases else []):
    options = loaded(form["options"])
    for index, case in enumerate(cases):
        answers[index][at] = show(case, form["out"], options)
for answer in answers:
    print(json.dumps({"shown": answer}))
