// A minion that stores as much as it can holds up neither the schedule nor reactions of others.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, freePorts } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { buildMinionEvent } from '@brine/wire/load';
import { afterAll, beforeAll, expect, it } from 'vitest';

const FLOOD = { events: 330, bytes: 900_000 };
const PATIENT = { withinMs: 120_000 };

/** A reaction takes long: what has no place at work waits in the queue. */
const SLOW = ['slow:', '  runner.test.sleep:', '    - args:', '      - s_time: 10', ''].join('\n');
const QUICK = ['quick:', '  runner.test.metasyntactic: []', ''].join('\n');

let master: BrineMaster;
let metricsPort: number;
let peers: TestPeer[] = [];

beforeAll(async () => {
  [metricsPort = 0] = await freePorts(1);
  master = await BrineMaster.start(
    {
      auto_accept: true,
      schedule: { often: { function: 'test.arg', args: ['due'], seconds: 2 } },
      reactor: [{ 'my/flood': ['salt://slow.sls'] }, { 'my/other': ['salt://quick.sls'] }],
      brine: { workers: 2, metrics: { port: metricsPort } },
    },
    {
      onHome: async ({ configDir }) => {
        await mkdir(join(configDir, 'files'), { recursive: true });
        await writeFile(join(configDir, 'files', 'slow.sls'), SLOW);
        await writeFile(join(configDir, 'files', 'quick.sls'), QUICK);
      },
    },
  );
  for (const id of ['flooding', 'other']) {
    const peer = await TestPeer.make(id, master.home.retPort);
    peers.push(peer);
    expect(await peer.tryToSignIn()).toBe(true);
  }
}, 300_000);
afterAll(async () => {
  for (const peer of peers) peer.close();
  peers = [];
  await master?.close();
});

async function runs(): Promise<number> {
  const { stdout } = await master.brine('run', ['jobs.list_jobs', '--out', 'json']);
  const jobs = Object.values(JSON.parse(stdout) as Record<string, { Function: string }>);
  return jobs.filter(({ Function: fun }) => fun === 'runner.test.metasyntactic').length;
}

/** The sum of the samples of a metric that have such labels. */
async function metric(name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`));
  const found = lines.filter((line) => line.includes(labels));
  return found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

it('the schedule goes on, and others are reacted to, while a minion floods', async () => {
  const [flooding, other] = peers;
  const data = mapOf({ blob: 'x'.repeat(FLOOD.bytes) });
  const sent = Array.from({ length: FLOOD.events }, () =>
    flooding!.send(buildMinionEvent('flooding', 'my/flood', data)),
  );
  // What it is refused stays without an answer, as the wire of Salt has it.
  const answered = Promise.allSettled(sent);
  await until(
    'the minion is refused',
    async () => (await metric('brine_shares_refused_total', 'of="minion"')) > 0,
    PATIENT,
  );
  await until(
    'its reactions are left out',
    async () => (await metric('brine_reactor_events_total', 'outcome="over_share"')) > 0,
    PATIENT,
  );
  const dueBefore = await metric('brine_schedule_outcomes_total', 'outcome="run"');
  await other!.send(buildMinionEvent('other', 'my/other', mapOf({ n: 1 })));
  await until(
    'the schedule has run five times more',
    async () => (await metric('brine_schedule_outcomes_total', 'outcome="run"')) >= dueBefore + 5,
    PATIENT,
  );
  expect(await metric('brine_schedule_outcomes_total', 'outcome="dropped"')).toBe(0);
  expect(await metric('brine_reactor_events_total', 'outcome="dropped"')).toBe(0);
  const log = await master.log();
  // Once in each worker.
  const told = log.match(/minion flooding has had its share of the stream of events/g) ?? [];
  expect([1, 2]).toContain(told.length);
  await until('the other minion was reacted to', async () => (await runs()) > 0, PATIENT);
  await answered;
});
