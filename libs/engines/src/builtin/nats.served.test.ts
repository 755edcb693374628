import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveNatsServer } from '@brine/nats-server';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineContext, EngineEvent, Plain } from '../engine.ts';
import { start } from './nats.ts';

let dir: string;
let server: ChildProcess;
let address: string;
let peer: Socket;
let heard = '';

/** A stream for the subjects below `stored`, with small messages only. */
const STREAM = JSON.stringify({ name: 'OUT', subjects: ['stored.>'], max_msg_size: 2_000 });

beforeAll(async () => {
  const binary = await resolveNatsServer({ env: process.env });
  dir = await mkdtemp(join(tmpdir(), 'brine-others-'));
  const args = ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', dir, '--ports_file_dir', dir];
  server = spawn(binary, args, { stdio: 'ignore' });
  address = await until('it listens', () => addressIn(dir), { withinMs: 30_000 });
  const [host, port] = address.split(':');
  peer = connect({ host, port: Number(port) });
  peer.on('data', (data) => (heard += data.toString()));
  peer.write('CONNECT {"verbose":false}\r\nSUB made 1\r\nSUB sent.> 2\r\nSUB stored.> 3\r\n');
  peer.write(`PUB $JS.API.STREAM.CREATE.OUT made ${STREAM.length}\r\n${STREAM}\r\n`);
  await until('its stream is made', () => heard.includes('"did_create":true'));
});

afterAll(async () => {
  peer.destroy();
  const gone = once(server, 'exit');
  server.kill('SIGKILL');
  await gone;
  await rm(dir, { recursive: true, force: true });
});

/** The server writes its ports into a file of its directory. */
async function addressIn(path: string): Promise<string | undefined> {
  const file = (await readdir(path)).find((name) => name.endsWith('.ports'));
  if (file === undefined) return undefined;
  return /nats:\/\/([\d.]+:\d+)/.exec(await readFile(join(path, file), 'utf8'))?.[1];
}

/** Runs the engine with events until it is done with them; gives what it said. */
async function sent(
  events: readonly Pick<EngineEvent, 'tag' | 'data'>[],
  options: { readonly [key: string]: Plain },
) {
  const done: string[] = [];
  const logged: string[] = [];
  const figures: Record<string, unknown> = {};
  async function* given(): AsyncGenerator<EngineEvent> {
    for (const [at, { tag, data }] of events.entries()) {
      yield { id: String(at), tag, data, timeMs: 0, done: () => done.push(tag) };
    }
  }
  const engine = {
    name: 'nats',
    masterId: 'm',
    stopping: new AbortController().signal,
    events: given,
    log: (_level: string, text: string) => logged.push(text),
    tell: (more: object) => Object.assign(figures, more),
  } as unknown as EngineContext;
  await start(engine, { servers: [address], ...options });
  expect(done).toEqual(events.map(({ tag }) => tag));
  return { logged, figures };
}

test('a message that the server can not take is left out alone, and told', async () => {
  const long = 'x'.repeat(5_000);
  const { logged, figures } = await sent(
    [
      { tag: 'a', data: {} },
      { tag: 'large', data: { text: 'x'.repeat(1024 * 1024) } },
      { tag: long, data: {} },
      { tag: 'b', data: {} },
    ],
    { subject: 'sent.{tag}' },
  );
  await until('the last one is heard', () => heard.includes('MSG sent.b '));
  expect(heard.match(/^MSG sent\.\S+/gm)).toEqual(['MSG sent.a', 'MSG sent.b']);
  expect(figures).toMatchObject({ taken: 2, refused: 2, retries: 0 });
  expect(logged).toEqual([
    expect.stringMatching(/^large: not taken and left out: the server takes messages of 1048576/),
    `${long}: not taken and left out: its subject has more than 4000 bytes`,
  ]);
});

test('a message that the stream or the server can not take is left out alone, and told', async () => {
  const { logged, figures } = await sent(
    [
      { tag: 'a', data: {} },
      { tag: 'large', data: { text: 'x'.repeat(3_000) } },
      { tag: 'larger', data: { text: 'x'.repeat(1024 * 1024) } },
      { tag: 'b', data: {} },
    ],
    { subject: 'stored.{tag}', jetstream: true },
  );
  expect(figures).toMatchObject({ taken: 2, refused: 2, retries: 0 });
  expect(logged).toEqual([
    expect.stringContaining('large: not taken and left out: stored.large was not stored: message'),
    expect.stringContaining('larger: not taken and left out: the server takes messages of'),
  ]);
});
