import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { BrineMaster } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ID = 'events-1';

/** A line of `brine events --json`. */
interface Line {
  readonly time: string;
  readonly position: string;
  readonly kind: string;
  readonly minion: string | null;
  readonly tag: string;
  readonly data: Readonly<Record<string, unknown>>;
}

let master: BrineMaster;

beforeAll(async () => {
  master = await BrineMaster.start({ brine: { workers: 2 } });
  await master.startMinion(ID);
  await master.acceptKeys([ID]);
  await master.waitForMinions([ID]);
}, 240_000);
afterAll(async () => {
  await master?.close();
});

async function events(...args: string[]): Promise<Line[]> {
  const { code, stdout } = await master.brine('events', ['--no-follow', '--json', ...args]);
  expect(code).toBe(0);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Line);
}

/** Runs a job and gives its id. */
async function echo(text: string): Promise<string> {
  const { stdout } = await master.brine('salt', [ID, 'test.echo', text, '--show-jid']);
  return /jid: (\d{20})/.exec(stdout)?.[1] ?? '';
}

test('a job is there afterwards, in order, by any filter', async () => {
  const jid = await echo('filtered');
  expect(jid).toMatch(/^\d{20}$/);
  const ofJob = await events('--from', '10m', '--jid', jid);
  expect(ofJob.map(({ tag }) => tag)).toEqual([
    `salt/job/${jid}/new`,
    `salt/job/${jid}/publish`,
    `salt/job/${jid}/ret/${ID}`,
  ]);
  expect(ofJob[0]?.data).toMatchObject({ jid, fun: 'test.echo', arg: ['filtered'], minions: [ID] });
  const last = ofJob.at(-1);
  expect(last).toMatchObject({ kind: 'ret', minion: ID, data: { return: 'filtered', id: ID } });
  expect(last?.data['_stamp']).toBe(last?.time);
  const byTag = await events('--from', '10m', '--tag', `salt/job/${jid}/ret/*`);
  expect(byTag.map(({ position }) => position)).toHaveLength(1);
  const byMinion = await events('--from', '10m', '--minion', 'events-*', '--kind', 'ret');
  expect(byMinion.map(({ tag }) => tag)).toContain(`salt/job/${jid}/ret/${ID}`);
  expect(await events('--from', '10m', '--minion', 'nobody*')).toEqual([]);
  // Without a beginning, what is asked of the past begins with the oldest.
  const fromOldest = await events('--jid', jid);
  expect(fromOldest.map(({ position }) => position)).toEqual(ofJob.map(({ position }) => position));
});

test('reading goes on after a position, and a wrong one is refused', async () => {
  const all = await events('--from', 'oldest', '--kind', 'ret');
  const middle = all[Math.floor(all.length / 2)];
  const rest = await events('--from', middle?.position ?? '', '--kind', 'ret');
  expect(rest.map(({ time }) => time)).toEqual(
    all.slice(Math.floor(all.length / 2) + 1).map(({ time }) => time),
  );
  const foreign = await master.brine('events', ['--no-follow', '--from', '1-1_00000000']);
  expect(foreign.stderr).toContain('The position is of streams that are gone');
});

test('a live reader shows what comes, and says at its end how to go on', async () => {
  const args = [BRINE, 'events', '-c', master.home.configDir, '--tag', 'salt/job/*/ret/*'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
  // It may still be on its way to the master when the first jobs run.
  await until('the reader shows a return', async () => {
    await echo('live');
    return lines.some((line) => line.includes('test.echo live'));
  });
  expect(lines.join('\n')).not.toMatch(/\x1b/);
  child.kill('SIGINT');
  expect(await gone).toBe(0);
  expect(said).toMatch(/brine events --from [0-9.]+-[0-9.]+_[0-9a-f]{8}\n/);
});

test('event.replay prints lines here, and in the master gives a page with a next', async () => {
  const jid = await echo('replayed');
  const tag = `salt/job/${jid}/ret/${ID}`;
  const { stdout } = await master.brine('run', ['event.replay', '--from', '10m', '--tag', tag]);
  const [line = '', next = ''] = stdout.split('\n');
  expect(line.split('\t')[2]).toBe(tag);
  expect(next).toMatch(/^# next: /);
  const begun = await master.brine('run', [
    ...['--async', 'event.replay', 'from=10m', `tag=${tag}`, 'count=5'],
  ]);
  const run = /salt\/run\/(\d{20})/.exec(begun.stderr)?.[1] ?? '';
  const found = await until('the run is in the job cache', async () => {
    const { stdout: shown } = await master.brine('run', ['jobs.lookup_jid', run, '--out', 'json']);
    return shown.includes(tag) ? shown : undefined;
  });
  expect(found).toContain('"next"');
});
