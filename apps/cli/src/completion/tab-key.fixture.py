"""Types words in a shell on a terminal, presses Tab, and prints what a command then gets as JSON.

Standard input: {"shell": [...], "setup": line, "offer": path, "got": path, "words": [[typed, id]]}.
Each id is written to `offer`, from where the completion takes it; the setup defines a command
`salt` that writes its arguments to `got`, each with a NUL behind it.
"""

import json
import os
import pty
import select
import sys
import time

asked = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(asked["shell"][0], asked["shell"])


def wait_for(path):
    """Reads the terminal until the file is there; what a shell prints must not fill the pipe."""
    until = time.monotonic() + 20
    said = b""
    while time.monotonic() < until:
        if os.path.exists(path):
            return said
        if select.select([terminal], [], [], 0.01)[0]:
            said += os.read(terminal, 65536)
    return said


results = []
os.write(terminal, (asked["setup"] + "\n").encode())
wait_for(asked["offer"])
for typed, offered in asked["words"]:
    with open(asked["offer"], "w", encoding="utf-8") as file:
        file.write(offered + "\n")
    os.write(terminal, f"salt {typed}\t\r".encode())
    said = wait_for(asked["got"])
    if os.path.exists(asked["got"]):
        with open(asked["got"], encoding="utf-8") as file:
            results.append(file.read().split("\0")[:-1])
        os.remove(asked["got"])
    else:
        results.append(said.decode(errors="replace"))
        os.write(terminal, b"\x03")
os.close(terminal)
os.waitpid(pid, 0)
json.dump(results, sys.stdout)
