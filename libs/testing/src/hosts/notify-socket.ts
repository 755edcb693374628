import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { findPython } from '../salt/python.ts';

/** Node has no sockets of this kind. A file that comes with a message is the sender's barrier. */
const LISTENER = `
import json, os, socket, sys
sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sock.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
print(json.dumps("listening"), flush=True)
while True:
    data, files, _, _ = socket.recv_fds(sock, 65536, 16)
    for file in files:
        os.close(file)
    print(json.dumps(data.decode()), flush=True)
`;

/** Receives a service's messages to systemd, sd_notify(3), as they come. */
export interface NotifySocket extends Disposable {
  readonly path: string;
  /** Messages as `READY=1`, in the order of their arrival. */
  readonly words: readonly string[];
}

/** Listens as systemd does. Throws if the host has no Python. */
export async function notifySocket(path: string): Promise<NotifySocket> {
  const python = await findPython();
  if (python === undefined) throw new Error('a notify socket needs Python');
  const child = spawn(python, ['-c', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const words: string[] = [];
  const lines = createInterface({ input: child.stdout });
  const listening = once(lines, 'line');
  lines.on('line', (line) => {
    const text = JSON.parse(line) as string;
    if (text !== 'listening' && text !== 'BARRIER=1') words.push(...text.trim().split('\n'));
  });
  await listening;
  return { path, words, [Symbol.dispose]: () => void child.kill() };
}
