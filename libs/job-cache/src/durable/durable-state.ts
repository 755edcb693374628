import type { DurableState } from '@brine/job';

/** A state as it is kept in `brine.durable.state`. */
export function durableStateJson(state: DurableState): string {
  return JSON.stringify({ ...state, heard: Object.fromEntries(state.heard) });
}

/** Reads what {@link durableStateJson} wrote. */
export function readDurableState(value: StoredDurableState): DurableState {
  return { ...value, heard: new Map(Object.entries(value.heard)) };
}

/** The column `state`, as the driver gives it. */
export type StoredDurableState = Omit<DurableState, 'heard'> & {
  readonly heard: Readonly<Record<string, number>>;
};
