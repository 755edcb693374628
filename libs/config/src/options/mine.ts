import { anything, flag } from '../kinds.ts';

/** The mine: data that minions share through the master. */
export const mineOptions = {
  enforce_mine_cache: flag({
    default: false,
    doc: 'Keep the mine also without minion_data_cache.',
  }),
  mine_get: anything({
    default: null,
    doc: 'Functions that minions may ask of the mine: expressions by expressions of minion ids.',
  }),
} as const;
