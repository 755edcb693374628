import { STORED_ORIGINS } from '@brine/job';
import { z } from 'zod';
import { cursorSchema, flagSchema, momentSchema, pageParts, pageQuery } from '../pages.ts';
import { timeSchema } from '../times.ts';
import { value } from './value.ts';

const TEXT_MAX = 1_024;

/** The states of minions in a job; each targeted minion is in one. */
export const LEDGER_STATES = ['waiting', 'returned', 'failed', 'late', 'never'] as const;

const count = z.int().min(0);

/** How many minions of a job are in each state. */
export const ledgerSchema = z
  .object({
    targeted: count.describe('All of them; the states add up to this.'),
    waiting: count,
    returned: count,
    failed: count,
    late: count.describe('They returned after the deadline.'),
    never: count.describe('The deadline is over, and they did not return.'),
    unexpected: count.describe('Those of them that returned without being targets.'),
  })
  .meta({ id: 'Ledger' });
export type Ledger = z.infer<typeof ledgerSchema>;

const originSchema = z
  .enum(STORED_ORIGINS)
  .meta({ id: 'Origin', description: 'What began a job; `publication`: not known.' });

const whatOfJob = {
  jid: z.string(),
  fun: z.array(z.string()),
  tgt: z.array(z.string()).optional(),
  tgtType: z.string().optional(),
  user: z.string().optional(),
  principal: z.string().optional().describe('Who published it, as rights name it.'),
  origin: originSchema.optional(),
  hidden: z.boolean().optional().describe('A command of a tool, such as find_job.'),
  published: timeSchema,
  deadline: timeSchema.nullable(),
  counts: ledgerSchema,
};

/** A job in a list. */
export const jobLineSchema = z.object(whatOfJob).meta({ id: 'JobLine' });
export type JobLine = z.infer<typeof jobLineSchema>;

/** A job. */
export const jobSchema = z
  .object({
    ...whatOfJob,
    arg: z.array(value),
    metadata: value.optional(),
    part: z
      .boolean()
      .optional()
      .describe('True if the caller may see some of its minions alone; the counts are of these.'),
  })
  .meta({ id: 'Job' });
export type Job = z.infer<typeof jobSchema>;

/** A jid as paths have it: that of Salt, or any text that a tool chose. */
const jidPath = { jid: z.string().min(1).max(128) };

/** The address of a job. */
export const jobParams = z.object(jidPath);

/** The address of what a minion gave for it. */
export const jobReturnParams = z.object({ ...jidPath, id: z.string().min(1).max(255) });

const glob = z.string().min(1).max(TEXT_MAX);

/** Selects jobs. */
export const jobsQuery = z.strictObject({
  ...pageQuery,
  state: z.enum(['open', 'closed']).optional().describe('Open: it waits for minions.'),
  result: z
    .enum(['ok', 'failed', 'late', 'never'])
    .optional()
    .describe('Ok: each minion returned in time, and none failed. Else: at least one is so.'),
  fun: glob.optional().describe('A shell pattern for a function.'),
  tgt: glob.optional().describe('A shell pattern for the target expression.'),
  user: glob.optional(),
  principal: glob.optional(),
  minion: z.string().min(1).max(255).optional().describe('A target, or a minion that returned.'),
  origin: originSchema.optional().describe('What began it.'),
  from: momentSchema.optional().describe('A time or an age: started at or after.'),
  to: momentSchema.optional().describe('A time or an age: started before.'),
  hidden: flagSchema.optional().describe('Also commands of tools, such as find_job.'),
});

/** A page of jobs, newest first. A page of a rare match may be empty and have a next. */
export const jobsPageSchema = z
  .object({ items: z.array(jobLineSchema), ...pageParts })
  .meta({ id: 'JobsPage' });
export type JobsPage = z.infer<typeof jobsPageSchema>;

/** A minion in a job. */
export const jobMinionSchema = z
  .object({
    id: z.string(),
    state: z.enum(LEDGER_STATES),
    retcode: z.int().nullable(),
    returned: timeSchema.nullable(),
    unexpected: z.boolean().describe('It returned without being a target.'),
  })
  .meta({ id: 'JobMinion' });

/** Selects minions of a job. */
export const jobMinionsQuery = z.strictObject({
  ...pageQuery,
  state: z.enum(LEDGER_STATES).optional(),
  q: z.string().min(1).max(255).optional().describe('A part of the id.'),
});

/** A page of the minions of a job, by id. */
export const jobMinionsPageSchema = z
  .object({ items: z.array(jobMinionSchema), ...pageParts })
  .meta({ id: 'JobMinionsPage' });
export type JobMinionsPage = z.infer<typeof jobMinionsPageSchema>;

/** What a minion gave for a job. */
export const jobReturnSchema = z
  .object({
    id: z.string(),
    returned: timeSchema,
    load: value.describe(
      'As the minion sent it. What JSON lacks is written as `$bytes` and so on.',
    ),
    evidence: z
      .array(z.object({ returned: timeSchema, load: value }))
      .optional()
      .describe('Other returns of this minion, which do not count.'),
  })
  .meta({ id: 'JobReturn' });
export type JobReturn = z.infer<typeof jobReturnSchema>;

export const jobReturnQuery = z.strictObject({
  evidence: flagSchema.optional().describe('Also other returns of this minion.'),
});

/** Minions that gave the same. */
export const jobGroupSchema = z
  .object({
    digest: z.string(),
    size: count,
    failed: z.boolean(),
    sample: z.string().describe('One of its minions: ask for its return.'),
  })
  .meta({ id: 'JobGroup' });

export const jobGroupsQuery = z.strictObject({
  limit: pageQuery.limit,
  like: z
    .enum(['exact', 'states'])
    .default('exact')
    .describe('States: runs that came to the same, whatever the times and numbers in them.'),
});

const whole = z
  .boolean()
  .describe('False while returns are still read for it: the same request has more soon.');

/** The returns of a job by what they contain: failed ones first, then the smallest groups. */
export const jobGroupsSchema = z
  .object({ items: z.array(jobGroupSchema), more: count.describe('Groups beyond these.'), whole })
  .meta({ id: 'JobGroups' });
export type JobGroups = z.infer<typeof jobGroupsSchema>;

/** What a state came to on the minions of a job. */
export const jobStateSchema = z
  .object({
    id: z.string().describe('As `file.managed motd (/etc/motd)`.'),
    ok: count,
    changed: count,
    failed: count,
    would: count.describe('It would change something, with `test=True`.'),
    slowestMs: count.describe('The longest time on a minion.'),
    slowest: z.string().describe('That minion.'),
  })
  .meta({ id: 'JobState' });

export const jobStatesQuery = z.strictObject({ limit: pageQuery.limit });

/** The states of a job: those with failures first, then those with changes. */
export const jobStatesSchema = z
  .object({
    items: z.array(jobStateSchema),
    more: count.describe('States beyond these.'),
    minions: count.describe('Minions that returned a run of states.'),
    whole,
  })
  .meta({ id: 'JobStates' });
export type JobStates = z.infer<typeof jobStatesSchema>;

export const jobTimelineQuery = z.strictObject({
  bins: z.coerce.number().int().min(1).max(500).default(120),
});

/** When the returns of a job came: parts of one length, from the publication on. */
export const jobTimelineSchema = z
  .object({
    from: timeSchema.nullable().describe('Null without returns.'),
    to: timeSchema.nullable(),
    items: z.array(z.object({ ok: count, failed: count })),
  })
  .meta({ id: 'JobTimeline' });
export type JobTimeline = z.infer<typeof jobTimelineSchema>;

export const jobQuery = z.strictObject({
  at: momentSchema.optional().describe('A time or an age: counts of then.'),
});

/** Why a minion is silent. */
export const silenceSchema = z
  .object({
    id: z.string(),
    cause: z.string().describe('A name for programs.'),
    text: z.string().describe('The cause with its evidence.'),
  })
  .meta({ id: 'Silence' });

export const silencesQuery = z.strictObject({
  minion: z
    .string()
    .min(1)
    .max(TEXT_MAX)
    .optional()
    .describe('This minion alone, whatever it did.'),
  limit: pageQuery.limit,
  after: cursorSchema.optional(),
});

/** A page of the silent minions of a job, by id. */
export const silencesSchema = z
  .object({ items: z.array(silenceSchema), ...pageParts })
  .meta({ id: 'Silences' });
export type Silences = z.infer<typeof silencesSchema>;
