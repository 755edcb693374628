import { type Bucket, changeValue, escapeKey } from '@brine/bus';
import type { ScheduleAdmin } from '@brine/runners';
import { askedMap, NOTHING_ASKED, readAsked, readState, type Zone } from '@brine/schedule';
import { isMap, mapOf, pack, type SaltMap, unpack } from '@brine/wire';
import type { DueRecords } from './due-records.ts';

/** What the care for a schedule is made of. */
export interface ScheduleAdminParts {
  readonly bucket: Pick<Bucket, 'get' | 'update'>;
  readonly records: DueRecords;
  /** What the worker that looks after the schedule has saved. */
  readonly saved: () => Promise<SaltMap | undefined>;
  readonly zone: Zone;
}

const KEY = escapeKey('schedule');

/** What runners see of the schedule, and what they ask of it, in the bucket `brine_reactor`. */
export function scheduleAdmin({ bucket, records, saved, zone }: ScheduleAdminParts): ScheduleAdmin {
  return {
    zone,
    state: async () => {
      const data = await saved();
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
