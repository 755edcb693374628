import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { BrineMaster } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { loadPauses, until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BreakableNats } from '../../integration/faults/breakable-nats.ts';

const MINIONS = ['replay-1', 'replay-2'];
/** How long events are made around each fault, in jobs. */
const JOBS = 5;

/** A line of `brine events --json`. */
interface Line {
  readonly time: string;
  readonly tag: string;
  readonly position: string;
}

/** What makes an event itself. Positions depend on how two streams were merged at the time. */
const nameOf = ({ time, tag }: Line): string => `${time} ${tag}`;

let nats: BreakableNats;
let master: BrineMaster;

beforeAll(async () => {
  nats = await BreakableNats.start();
  master = await BrineMaster.start({ brine: { workers: 2, nats: { url: nats.url } } });
  for (const id of MINIONS) await master.startMinion(id);
  await master.acceptKeys(MINIONS, 120_000);
  await master.waitForMinions(MINIONS, 120_000);
}, 300_000);
afterAll(async () => {
  await master?.close();
  await nats?.[Symbol.asyncDispose]();
});

async function replayed(...args: string[]): Promise<Line[]> {
  const { code, stdout } = await master.brine(
    'events',
    ['--no-follow', '--json', ...args],
    120_000,
  );
  expect(code).toBe(0);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** `brine events` as it runs beside the test. */
function follow(from: string) {
  const lines: Line[] = [];
  const args = ['events', '-c', master.home.configDir, '--from', from, '--json'];
  const child = spawn(process.execPath, [BRINE, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line) as Line);
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  const stop = async (): Promise<void> => {
    child.kill('SIGINT');
    await gone;
  };
  return { lines, stop };
}

async function runJobs(): Promise<void> {
  for (let n = 0; n < JOBS; n += 1) {
    const { code } = await master.brine('salt', ['*', 'test.echo', `job ${n}`]);
    expect(code).toBe(0);
    await loadPauses(50);
  }
}

const FAULTS: readonly (readonly [name: string, act: () => Promise<void>])[] = [
  ['a restart of the master', () => master.restart()],
  ['kill -9 of the whole master', () => master.killAndStart()],
  [
    'a restart of NATS',
    async () => {
      await nats.stop();
      await nats.again();
      await master.waitUntilReady();
    },
  ],
];

test.each(FAULTS)(
  'a follower misses nothing and sees nothing twice over %s',
  async (_, act) => {
    const [start] = await replayed('--from', '1m', '--count', '1');
    const from = start?.position ?? 'oldest';
    const follower = follow(from);
    await runJobs();
    await act();
    await runJobs();
    const wanted = await replayed('--from', from);
    const names = wanted.map(nameOf);
    await until('the follower has every event', () => {
      const seen = new Set(follower.lines.map(nameOf));
      return names.every((name) => seen.has(name));
    });
    await follower.stop();
    const seen = follower.lines.map(nameOf);
    expect(new Set(seen).size).toBe(seen.length);
    expect(new Set(names).size).toBe(names.length);
    const last = wanted.at(-1)?.time ?? '';
    const upToLast = follower.lines.filter(({ time }) => time <= last).map(nameOf);
    expect([...upToLast].sort()).toEqual([...names].sort());
    const returns = wanted.filter(({ tag }) => /\/ret\/replay-/.test(tag));
    expect(returns.length).toBeGreaterThanOrEqual(2 * JOBS * MINIONS.length);
  },
  240_000,
);

test('brine run event.replay and state.event begin where they are told to', async () => {
  const all = await replayed('--from', 'oldest', '--tag', 'salt/job/*/ret/*');
  const middle = all[Math.floor(all.length / 2)];
  const { stdout } = await master.brine('run', [
    ...['event.replay', '--from', middle?.position ?? '', '--tag', 'salt/job/*/ret/*'],
  ]);
  const tags = stdout
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t')[2]);
  expect(tags).toEqual(all.slice(Math.floor(all.length / 2) + 1).map(({ tag }) => tag));
  const count = 5;
  const shown = await master.brine('run', [
    ...['state.event', 'tagmatch=salt/job/*/ret/*', '--from', middle?.position ?? ''],
    ...['--count', String(count)],
  ]);
  const lines = shown.stdout.split('\n').filter((line) => line !== '');
  expect(lines.slice(0, count).map((line) => line.split('\t')[0])).toEqual(tags.slice(0, count));
});
