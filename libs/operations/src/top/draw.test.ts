import { expect, test } from 'vitest';
import { sampleCluster, toldBy } from '../cluster-status/sample-cluster.fixture.ts';
import { draw, type Sheet } from './draw.ts';
import type { JobLine, TopData } from './source.ts';
import { firstState, type TopState, VIEWS } from './state.ts';

const SHEET: Sheet = { columns: 80, rows: 24, color: false };
const NOW = Date.UTC(2026, 10, 26, 3);

const job = (at: number, waiting: number): JobLine => ({
  jid: String(20_261_126_030_000_000_000n + BigInt(at)),
  fun: 'state.apply',
  target: 'web*',
  user: 'root',
  startedMs: NOW - 65_000,
  ledger: { targeted: 9, waiting, returned: 9 - waiting, failed: 0, missed: 0 },
});

function data(changed: Partial<TopData> = {}): TopData {
  return {
    atMs: NOW,
    cluster: sampleCluster(),
    perSecond: 12.34,
    jobs: Array.from({ length: 60 }, (_, at) => job(at, at % 2)),
    minions: {
      keys: new Map([['accepted', 50]]),
      present: 48,
      listed: [{ id: 'web1', state: 'absent', goneMs: NOW - 3_600_000, address: '10.0.0.1' }],
    },
    silent: [{ id: 'web1', cause: 'disconnected', text: 'lost its connection' }],
    ...changed,
  };
}

const drawn = (state: Partial<TopState>, given = data(), sheet = SHEET) =>
  draw({ ...firstState(2_000), ...state }, given, sheet, 'm1');

test.each(VIEWS)('%s fit on 80 columns and 24 rows', (view) => {
  for (const state of [{ view }, { view, help: true }, { view, filter: 'web' }]) {
    const lines = drawn(state).text.split('\n');
    expect(lines.length).toBeLessThan(SHEET.rows);
    for (const line of lines) expect(line.length).toBeLessThan(SHEET.columns);
  }
});

test('even a terminal of a few lines is not overrun', () => {
  for (const rows of [2, 6, 8]) {
    const { text } = drawn({ view: 'jobs' }, data(), { columns: 20, rows, color: false });
    expect(text.split('\n').length).toBeLessThan(rows);
  }
});

test('without colours no sign of the picture is a control, and the marked row is known', () => {
  const { text } = drawn({ view: 'jobs', row: 1 });
  expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]/);
  expect(text.split('\n').filter((line) => line.startsWith('>'))).toHaveLength(1);
  const colored = drawn({ view: 'jobs' }, data(), { ...SHEET, color: true }).text;
  expect(colored).toContain('\x1b[');
});

test('the list goes on where the marked row is', () => {
  const first = drawn({ view: 'jobs' });
  expect(first.rows).toBe(60);
  const last = drawn({ view: 'jobs', row: 59 });
  expect(last.text).toContain(job(59, 0).jid);
  expect(first.text).not.toContain(job(59, 0).jid);
  expect(first.jids).toHaveLength(60);
});

test('a filter leaves rows out, and the jobs that Enter opens', () => {
  const { rows, jids } = drawn({ view: 'jobs', filter: '0000017' });
  expect(rows).toBe(1);
  expect(jids).toEqual([job(17, 0).jid]);
});

test('how many minions there are fits beside the views', () => {
  const { text } = drawn({ view: 'minions' });
  expect(text).toContain('[4 minions]   50 accepted; 48 connected\n');
  const none = data({ minions: { keys: new Map(), present: undefined, listed: [] } });
  expect(drawn({ view: 'minions' }, none).text).toContain('   no keys; presence unknown\n');
});

test('what is wrong stands above all views', () => {
  const cluster = sampleCluster([toldBy('worker-pool', { name: 'worker-pool-2', ready: false })]);
  const { text } = drawn({ view: 'minions' }, data({ cluster }));
  expect(text).toContain('worker-pool-2 on a is not ready (and 1 more)');
});

test('a part that can not be asked says why, and the rest is drawn', () => {
  const { text } = drawn({ view: 'jobs' }, data({ jobs: 'The job cache is unreachable' }));
  expect(text).toContain('not known: The job cache is unreachable');
  expect(drawn({ view: 'services' }, data({ cluster: 'no answer' })).text).toContain('no answer');
  expect(draw(firstState(1_000), undefined, SHEET, 'm1').text).toContain('asking the master');
});

test('signs of two columns do not push a row over the edge', () => {
  const wide = { ...job(1, 0), fun: '測試測試測試測試', target: '👍👍👍'.repeat(9) };
  const { text } = drawn({ view: 'jobs' }, data({ jobs: [wide] }));
  expect(text).not.toMatch(/[測👍]/u);
});

test('why minions of a job are silent is shown in place of the jobs', () => {
  const { text } = drawn({ view: 'jobs', jid: job(1, 1).jid });
  expect(text).toMatch(/web1 +disconnected +lost its connection/);
  expect(text).toContain('Escape: back');
});
