"""Runs an engine of the site's Salt for as long as it runs.

Run as: python engine.py <file of the master> <name of the engine> <bytes of memory>

The first line of stdin is a map in JSON, the options of the engine. When stdin ends, the master's
process is gone, and this one ends too. Code 3: Salt has no such engine.
"""

import json
import os
import signal
import sys
import threading

UNKNOWN = 3


def end_with_master():
    """Waits for the end of stdin, and ends what the engine started with it.

    It reads without the buffer of Python: a thread that waits there makes the interpreter abort at
    its end.
    """
    while os.read(0, 4096):
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def main():
    config, name, memory = sys.argv[1:4]
    options = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=end_with_master, daemon=True).start()
    from host import limit

    limit(int(memory))
    from site_salt import set_log_level, site_options

    # Modules must not find ours by accident.
    sys.path.pop(0)
    import salt.loader

    opts = site_options(config)
    set_log_level(opts.get("log_level"))
    utils = salt.loader.utils(opts)
    runners = salt.loader.runner(opts, utils=utils)
    functions = salt.loader.minion_mods(opts, utils=utils)
    engines = salt.loader.engines(opts, functions, runners, utils)
    start = name + ".start"
    if start not in engines:
        print("[ERROR] " + engines.missing_fun_string(start), file=sys.stderr, flush=True)
        sys.exit(UNKNOWN)
    engines[start](**options)


if __name__ == "__main__":
    main()
