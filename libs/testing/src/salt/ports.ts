import { createSocket } from 'node:dgram';
import { createConnection, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Below the ports that kernels give to connections and to `listen(0)` (Linux: from 32,768 on), so
 * that no other socket takes a port before its process does.
 */
const FIRST_PORT = 10_000;
const PORTS = 22_000;
const POLL_MS = 50;
let next = FIRST_PORT + Math.floor(Math.random() * PORTS);

/**
 * Free ports on loopback. They are this process's until it ends: a server that a test kills finds
 * its port again, whatever other test processes start meanwhile.
 * @param from the first port to try, so that a test can ask for a port twice
 * @throws Error if no port is free.
 */
export async function freePorts(count: number, from = next): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries += 1) {
    if (tries === PORTS) throw new Error(`no ${count} free ports`);
    const port = FIRST_PORT + ((from - FIRST_PORT + tries) % PORTS);
    next = port + 1;
    if ((await claim(port)) && (await isFree(port))) ports.push(port);
  }
  return ports;
}

/**
 * Claims a TCP port among test processes by binding the UDP port of the same number. The kernel
 * gives it to one process and frees it when that process ends, however it ends.
 */
function claim(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close();
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false);
      else reject(error);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref();
      resolve(true);
    });
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/**
 * Waits until a process listens on a loopback port.
 * @throws Error when the time is up.
 */
export async function waitForPort(port: number, timeoutMs: number): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await canConnect(port))) {
    if (Date.now() > giveUpAt) throw new Error(`nothing listens on port ${port}`);
    await sleep(POLL_MS);
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
