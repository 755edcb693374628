import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type BrineMaster, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';

/** Another http-api of a master, on a port of its own. */
export interface HttpReplica {
  readonly base: string;
  /** Ends it; resolves with its log. */
  close(): Promise<string>;
  /** Ends it at once, by SIGKILL. */
  kill(): Promise<void>;
  /** As {@link kill}, and starts another one at an address of its own. */
  killAndStart(): Promise<HttpReplica>;
  /** After its end: starts another one at the same address. */
  startAgain(): Promise<HttpReplica>;
}

/** The first http-api of a master, from what `brine.http` names. */
export function firstOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** What a process is started with. */
interface Program {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Starts a second process with the program and the environment of the first one. */
export async function startReplica(master: BrineMaster): Promise<HttpReplica> {
  return start(await programOf(master), await ownPort());
}

async function ownPort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

async function programOf(master: BrineMaster): Promise<Program> {
  const service = (await master.services()).find(({ name }) => name.startsWith('http-api'));
  if (service?.pid === undefined) throw new Error('the master has no http-api');
  const [, ...args] = await partsOf(`/proc/${service.pid}/cmdline`);
  const env = Object.fromEntries(
    (await partsOf(`/proc/${service.pid}/environ`)).map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  // Descriptors of its supervisor, which have other meanings here.
  for (const name of Object.keys(env)) if (/^NODE_CHANNEL|_FD$/.test(name)) delete env[name];
  return { args, env };
}

async function start(program: Program, port: number): Promise<HttpReplica> {
  const { args, env } = program;
  const started = spawn(process.execPath, args, {
    env: { ...env, BRINE_HTTP_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = logOf(started);
  const base = firstOf(port);
  await until(
    'the second http-api serves',
    async () => {
      if (started.exitCode !== null) throw new Error(`it ended: ${log()}`);
      return (await fetch(`${base}/console/`).catch(() => undefined))?.status === 200;
    },
    { withinMs: 60_000 },
  );
  const kill = async (): Promise<void> => {
    const exited = once(started, 'exit');
    started.kill('SIGKILL');
    await exited;
  };
  return {
    base,
    close: async () => {
      started.kill('SIGTERM');
      if (started.exitCode === null && started.signalCode === null) await once(started, 'exit');
      return log();
    },
    kill,
    killAndStart: async () => {
      await kill();
      return start(program, await ownPort());
    },
    startAgain: () => start(program, port),
  };
}

async function partsOf(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split('\0').filter((part) => part !== '');
}

function logOf({ stdout, stderr }: ChildProcess): () => string {
  let text = '';
  for (const stream of [stdout, stderr])
    stream?.on('data', (part: Buffer) => (text += part.toString()));
  return () => text;
}
