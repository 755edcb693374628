"""Runs a command on a terminal of its own and passes on what it prints, with plain line ends."""

import os
import pty
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        seen = os.read(terminal, 65536)
    except OSError:  # Linux: the last process has closed its end
        break
    if not seen:
        break
    sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
