// Runners that hold an orchestration and end it, and the one that shows events, at a whole master.
import { fileURLToPath } from 'node:url';
import { BrineMaster } from '@brine/testing';
import { quietFor, until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOTS = fileURLToPath(new URL('../fixtures/orchestrate/salt', import.meta.url));
const JID = '20261126120000123456';
/** A run that nothing holds would be over long before, ms. */
const HELD_MS = 4_000;
const WITHIN_MS = 300_000;

let master: BrineMaster;

beforeAll(async () => {
  master = await BrineMaster.start({ file_roots: { base: [ROOTS] }, brine: { workers: 2 } });
});
afterAll(() => master?.close());

const run = (...args: readonly string[]) => master.brine('run', args, WITHIN_MS);

it('an orchestration is paused at states, goes on, and is ended before another', async () => {
  const running = run('--jid', JID, '--out', 'json', 'state.orchestrate', 'long.paused');
  let isOver = false;
  void running.finally(() => (isOver = true));
  await until('the run is known', async () => {
    const { stdout } = await run('state.pause', JID, 'second');
    return !stdout.includes(`No orchestration ${JID} is under way.`);
  });
  // One is of the orchestration within it, which has not begun.
  await run('state.pause', JID, 'deep');
  await run('state.soft_kill', JID, 'fourth');
  // It takes events from when its first state runs, however long a busy machine needs until then.
  await until('its event is seen', async () => {
    await run('event.send', 'test/go', 'data={"id": "one"}');
    return (await master.log()).includes("{'minions_seen': ['one']}");
  });
  await quietFor('its end', HELD_MS);
  expect(isOver).toBe(false);
  await run('state.resume', JID, 'second');
  await quietFor('its end', HELD_MS);
  expect(isOver).toBe(false);
  await run('state.rm_pause', JID, 'deep');
  const { code, stdout } = await running;
  const { data } = JSON.parse(stdout) as { data: Record<string, Record<string, unknown>> };
  const ids = Object.values(data).flatMap((states) => Object.keys(states).map(idOf));
  // As in Salt, what was not begun is neither failed nor shown.
  expect(ids.sort()).toEqual(['first', 'second', 'third']);
  expect(stdout).toContain('__id__": "deep"');
  expect(code).toBe(0);
  const { stdout: late } = await run('state.pause', JID);
  expect(late).toContain(`No orchestration ${JID} is under way.`);
});

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
