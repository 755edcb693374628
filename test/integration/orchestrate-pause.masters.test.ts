// Runners that hold an orchestration and end it, and the one that shows events, at a whole master.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fireEvent } from '@brine/ipc';
import { BrineMaster } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOTS = fileURLToPath(new URL('../fixtures/orchestrate/salt', import.meta.url));
const JID = '20261126120000123456';
const WITHIN_MS = 300_000;

let master: BrineMaster;

beforeAll(async () => {
  master = await BrineMaster.start({ file_roots: { base: [ROOTS] }, brine: { workers: 2 } });
});
afterAll(() => master?.close());

const run = (...args: readonly string[]) => master.brine('run', args, WITHIN_MS);

/** Leaves a word for a run; false where the master knows of no such run. */
async function isTold(...words: readonly string[]): Promise<boolean> {
  const { code, stdout, stderr } = await run(...words);
  if (code !== 0) throw new Error(`exit ${code}: ${stdout}${stderr}`);
  return !stdout.includes(`No orchestration ${JID} is under way.`);
}

/** Fires what the first state waits for; a command for it would take long on a busy machine. */
function go(): Promise<void> {
  const path = join(master.home.sockDir, 'master_event_pull.ipc');
  return fireEvent('test/go', pack(mapOf({ id: 'one' })), { path });
}

it('an orchestration is paused at states, goes on, and is ended before another', async () => {
  const running = run('--jid', JID, '--out', 'json', 'state.orchestrate', 'long.paused');
  // Each look is a command of its own.
  await until('the run is known', () => isTold('state.pause', JID, 'second'), {
    withinMs: WITHIN_MS,
  });
  // One is of the orchestration within it, which has not begun.
  expect(await isTold('state.pause', JID, 'deep')).toBe(true);
  expect(await isTold('state.soft_kill', JID, 'fourth')).toBe(true);
  // It takes events from when its first state runs, however long a busy machine needs until then.
  await until('its event is seen', async () => {
    await go();
    return (await master.log()).includes("{'minions_seen': ['one']}");
  });
  const resumedMs = Date.now();
  expect(await isTold('state.resume', JID, 'second')).toBe(true);
  const removedMs = Date.now();
  expect(await isTold('state.rm_pause', JID, 'deep')).toBe(true);
  const { code, stdout } = await running;
  expect(code).toBe(0);
  const { data } = JSON.parse(stdout) as { data: Record<string, Record<string, unknown>> };
  const ids = Object.values(data).flatMap((states) => Object.keys(states).map(idOf));
  // As in Salt, what was not begun is neither failed nor shown.
  expect(ids.sort()).toEqual(['first', 'second', 'third']);
  // How long a pause held is no matter: the state begins after the word that ends it.
  expect(beganAfter(resultOf(data, 'second'), resumedMs)).toBe(true);
  expect(beganAfter(resultOf(data, 'deep'), removedMs)).toBe(true);
  const { stdout: late } = await run('state.pause', JID);
  expect(late).toContain(`No orchestration ${JID} is under way.`);
});

/** A state's result in the results of an orchestration, or of one within it. */
function resultOf(within: unknown, id: string): Result | undefined {
  if (typeof within !== 'object' || within === null) return undefined;
  if ('__id__' in within && within.__id__ === id) return within as unknown as Result;
  for (const value of Object.values(within)) {
    const found = resultOf(value, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Result {
  /** Time of the day. */
  readonly start_time: string;
}

/** Whether a state began at that time or later; midnight may be between. */
function beganAfter(result: Result | undefined, ms: number): boolean {
  const [hours, minutes, seconds] = (result?.start_time ?? '').split(':').map(Number);
  const began = new Date(ms).setHours(hours ?? NaN, minutes, 0, (seconds ?? NaN) * 1_000);
  return began >= ms || ms - began > 43_200_000;
}

function idOf(tag: string): string {
  return tag.split('_|-')[1] ?? '';
}

it('state.event shows events as they come, and ends after so many', async () => {
  const showing = run('state.event', 'test/probe/*', 'count=2');
  let isOver = false;
  void showing.finally(() => (isOver = true));
  await until(
    'two events are shown',
    async () => {
      await run('event.send', 'test/probe/one', 'data={"id": "one"}');
      return isOver;
    },
    { withinMs: WITHIN_MS },
  );
  const { code, stdout } = await showing;
  const lines = stdout.trimEnd().split('\n').slice(0, 2);
  for (const line of lines) expect(line).toMatch(/^test\/probe\/one\t\{.*"id": "one".*\}$/);
  expect(code).toBe(0);
});
