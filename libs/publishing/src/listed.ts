import type { Job } from '@brine/job';
import { appendField } from '@brine/wire';

/** A publication once more, for these minions alone whatever its target was. */
export function listedFor(publication: Uint8Array, minions: readonly string[]): Buffer {
  return appendField(appendField(publication, 'tgt', [...minions]), 'tgt_type', 'list');
}

/**
 * A job for those of its minions that are among `waiting`; undefined where none is, as several
 * publications of one jid (`--batch`) have each its own minions.
 */
export function narrowed(record: Job, waiting: readonly string[]): Job | undefined {
  const own = new Set(record.minions);
  const minions = waiting.filter((id) => own.has(id));
  if (minions.length === 0) return undefined;
  const publication = listedFor(record.publication, minions);
  return { ...record, tgtType: 'list', minions, publication };
}
