import { Bucket, type Bus, changeValue, escapeKey } from '@brine/bus';
import type { ScheduleAdmin } from '@brine/runners';
import { askedMap, NOTHING_ASKED, readAsked, readState } from '@brine/schedule';
import { isMap, mapOf, pack, type SaltMap, unpack } from '@brine/wire';
import { DueRecords } from './due-records.ts';
import { LOCAL_ZONE } from './local-zone.ts';

/** Name of the run that owns the schedule. */
export const SCHEDULE = 'schedule';

const KEY = escapeKey('schedule');

/** The schedule as runners see and change it, in the bucket `brine_reactor`. */
export function openScheduleAdmin(
  bus: Bus,
  runs: { dataOf(name: string): Promise<SaltMap | undefined> },
): ScheduleAdmin {
  const bucket = new Bucket(bus, 'brine_reactor');
  const records = new DueRecords(bucket);
  return {
    zone: LOCAL_ZONE,
    state: async () => {
      const data = await runs.dataOf(SCHEDULE);
      return data && readState(data);
    },
    asked: async () => {
      const entry = await bucket.get(KEY);
      return entry === undefined ? NOTHING_ASKED : readAsked(mapIn(entry.value));
    },
    ask: (change) =>
      changeValue(bucket, KEY, (entry) => {
        const asked = change(entry === undefined ? NOTHING_ASKED : readAsked(mapIn(entry.value)));
        return { answer: undefined, value: pack(askedMap(asked)) };
      }),
    runs: (name) => records.runs(name),
  };
}

function mapIn(value: Uint8Array): SaltMap {
  const stored = value.length === 0 ? null : unpack(value);
  return isMap(stored) ? stored : mapOf({});
}
