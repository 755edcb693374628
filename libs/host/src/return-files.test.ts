import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventMessage } from '@brine/bus/events';
import { JobFiles } from '@brine/cachedir';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ReturnFiles } from './return-files.ts';

const JID = '20261122030000000001';
let cachedir = '';
beforeEach(() => {
  cachedir = mkdtempSync(join(tmpdir(), 'return-files-'));
});
afterEach(() => rmSync(cachedir, { recursive: true, force: true }));

function eventOf(id: string, value: string, timeMs: number): EventMessage {
  const load = mapOf({
    cmd: '_return',
    id,
    jid: JID,
    fun: 'test.echo',
    fun_args: ['x'],
    return: value,
    retcode: 0,
    user: 'ann',
  });
  const tag = `salt/job/${JID}/ret/${id}`;
  const fetch = (): Promise<Uint8Array> => Promise.resolve(pack(load));
  // The rest of an event is not looked at.
  return {
    tag,
    timeMs,
    fetch,
    ack: () => undefined,
    nak: () => undefined,
  } as unknown as EventMessage;
}

async function handled(files: JobFiles, events: EventMessage[], endTimes: boolean): Promise<void> {
  const troubles: unknown[] = [];
  await new ReturnFiles({
    files,
    endTimes,
    reader: { batches: () => [events].values() as never },
    onTrouble: (error) => troubles.push(error),
  }).run();
  expect(troubles).toEqual([]);
}

it('returns of a job that was not published make its files, and its end is noted', async () => {
  const files = new JobFiles({ cachedir });
  const later = Date.UTC(2026, 10, 22, 3, 0, 5, 123);
  await handled(files, [eventOf('m2', 'b', later), eventOf('m1', 'a', later - 4_000)], true);
  const load = await files.readLoad(JID);
  expect(load?.get('arg')).toEqual(['x']);
  expect(load?.get('user')).toBe('ann');
  expect(load?.has('return')).toBe(false);
  expect(['m1', 'm2']).toContain(load?.get('tgt'));
  expect(readFileSync(join(files.dir(JID), 'endtime'), 'utf8')).toBe(
    '2026, Nov 22 03:00:05.123000',
  );
  const names = readdirSync(files.dir(JID)).sort();
  expect(names).toEqual(['.load.p', '.minions.p', 'endtime', 'jid', 'm1', 'm2']);
});

it('a published job keeps its load, and no end is noted unless it is asked for', async () => {
  const files = new JobFiles({ cachedir });
  await files.writeJob({ jid: JID, load: mapOf({ jid: JID, fun: 'published' }), minions: ['m1'] });
  await handled(files, [eventOf('m1', 'a', 1_000)], false);
  expect((await files.readLoad(JID))?.get('fun')).toBe('published');
  expect(readdirSync(files.dir(JID))).not.toContain('endtime');
  expect(await files.readReturns(JID)).toMatchObject([{ id: 'm1' }]);
});
