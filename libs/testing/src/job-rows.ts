import type { JobRow, ReturnRow } from '@brine/job-cache';
import type { SaltValue } from '@brine/wire';
import { mapOf, pack } from '@brine/wire';

/** A job of `test.ping` to three minions; give only the fields under test. */
export function jobRow(jid: string, given: Partial<JobRow> = {}): JobRow {
  const load = mapOf({
    cmd: 'publish',
    fun: 'test.ping',
    arg: [],
    tgt: '*',
    tgt_type: 'glob',
    jid,
    ret: '',
    user: 'root',
    kwargs: mapOf({ delimiter: ':' }),
  });
  return {
    jid,
    load: pack(load),
    principal: 'root',
    user: 'root',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['m1', 'm2', 'm3'],
    missing: [],
    publishedAt: 1_795_000_000_000,
    deadlineAt: 1_795_003_600_000,
    incarnation: 'p1',
    seq: 1,
    ...given,
  };
}

/** The load of a return, as the event carries it. */
export function returnLoad(
  jid: string,
  id: string,
  value: SaltValue,
  more: Readonly<Record<string, SaltValue>> = {},
): Buffer {
  return pack(
    mapOf({
      cmd: '_return',
      id,
      jid,
      fun: 'test.ping',
      fun_args: [],
      return: value,
      retcode: 0,
      success: true,
      ...more,
    }),
  );
}

/** A successful return; give only the fields under test. */
export function returnRow(
  jid: string,
  id: string,
  value: SaltValue,
  given: Partial<ReturnRow> = {},
): ReturnRow {
  return {
    jid,
    id,
    load: returnLoad(jid, id, value),
    receivedAt: 1_795_000_001_000,
    incarnation: 'e1',
    seq: 1,
    ...given,
  };
}
