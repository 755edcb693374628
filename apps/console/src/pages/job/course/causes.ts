import type { Silences } from '@brine/api/jobs';

type Silence = Silences['items'][number];

/** Silent minions with one cause. */
export interface CauseGroup {
  readonly cause: string;
  readonly minions: readonly Silence[];
}

/** Minions by the cause of their silence; the largest group first. */
export function groupByCause(items: readonly Silence[]): readonly CauseGroup[] {
  const groups = new Map<string, Silence[]>();
  for (const item of items) {
    const group = groups.get(item.cause);
    if (group === undefined) groups.set(item.cause, [item]);
    else group.push(item);
  }
  return [...groups]
    .map(([cause, minions]) => ({ cause, minions }))
    .sort((one, other) => other.minions.length - one.minions.length);
}

/** What a cause means for people, and what they can do. */
export interface CauseAdvice {
  readonly meaning: string;
  readonly help: string;
  /** A command that helps. */
  readonly command?: string;
}

const RUN_AGAIN = 'Run the job again on the missing minions.';
const LOOK_AT_HOST = 'See on its host whether the minion runs, and what its log has.';
const KEY: Pick<CauseAdvice, 'help' | 'command'> = {
  help: 'Decide about its key, then run the job again.',
  command: 'salt-key -L',
};

/** By the names of causes (libs/job silence.ts, docs/no-return.md). */
const ADVICE: ReadonlyMap<string, CauseAdvice> = new Map<string, CauseAdvice>([
  [
    'returned_elsewhere',
    {
      meaning: 'Another program put its return into the database.',
      help: 'It did the job. Find out which returner or master writes there.',
    },
  ],
  [
    'returned_late',
    { meaning: 'It returned after the deadline.', help: 'Give such jobs a longer deadline.' },
  ],
  ['returned', { meaning: 'It returned.', help: 'Nothing is to be done.' }],
  [
    'refused',
    {
      meaning: 'The master refused its return.',
      help: 'It did the job. The reason of the refusal is beside each minion.',
      command: 'brine events --kind ret',
    },
  ],
  [
    'running',
    {
      meaning: 'It runs the job still.',
      help: 'Wait, or end the job there.',
      command: "salt '*' saltutil.running",
    },
  ],
  [
    'stopped_running',
    {
      meaning: 'It ran the job, then did not any more, and no return came.',
      help: 'Its minion was restarted or killed meanwhile: see its log, then run the job again.',
    },
  ],
  ['key_unknown', { meaning: 'The master has no key of this id.', ...KEY }],
  ['key_pending', { meaning: 'Its key waits for a decision.', ...KEY }],
  ['key_rejected', { meaning: 'Its key was rejected.', ...KEY }],
  ['key_deleted', { meaning: 'Its key was deleted.', ...KEY }],
  [
    'key_denied',
    {
      meaning: 'It offers another key than the accepted one of its id.',
      help: 'If it was installed again, delete the old key and accept the new one.',
      command: 'salt-key -l denied',
    },
  ],
  [
    'not_targeted',
    {
      meaning: 'The target did not name it when the job was published.',
      help: 'Run the job on it, if it should have it.',
    },
  ],
  [
    'expired',
    {
      meaning: 'A publisher did not send the job: it was past its time.',
      help: RUN_AGAIN,
    },
  ],
  [
    'target_no_longer_matches',
    {
      meaning: 'Its grains do not match the target now.',
      help: 'Refresh its grains, then run the job again.',
      command: "salt '*' saltutil.refresh_grains",
    },
  ],
  [
    'not_connected',
    {
      meaning: 'It was not connected when the job was published.',
      help: LOOK_AT_HOST,
      command: 'salt-run manage.down',
    },
  ],
  [
    'dropped_by_log_in',
    {
      meaning: 'It logged in again meanwhile, and lost the publication.',
      help: RUN_AGAIN,
    },
  ],
  [
    'not_running',
    {
      meaning: 'It answered that it does not run the job: it never got it, or its return was lost.',
      help: RUN_AGAIN,
    },
  ],
  [
    'unknown',
    {
      meaning: 'It was seen after the publication, but not with this job.',
      help: RUN_AGAIN,
    },
  ],
  [
    'not_heard_since',
    { meaning: 'It is silent, and missed earlier jobs too.', help: LOOK_AT_HOST },
  ],
  [
    'nothing_heard_since',
    {
      meaning: 'It is silent since the publication. Before, it was well.',
      help: LOOK_AT_HOST,
      command: "salt '*' test.ping",
    },
  ],
]);

const UNKNOWN: CauseAdvice = {
  meaning: 'This master knows a cause that this page does not know.',
  help: 'The evidence is beside each minion.',
};

/** What a cause means, and what helps. */
export function adviceFor(cause: string): CauseAdvice {
  return ADVICE.get(cause) ?? UNKNOWN;
}
