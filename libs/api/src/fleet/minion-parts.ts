import { z } from 'zod';
import { LEDGER_STATES } from '../jobs/jobs.ts';
import { flagSchema, pageParts, pageQuery } from '../pages.ts';
import { timeSchema } from '../times.ts';

const TEXT_MAX = 1_024;

/** What is known of a part of a minion. */
export const minionPartSchema = z
  .object({
    data: z
      .unknown()
      .describe('Null: nothing is known. What JSON lacks is written as `$bytes` and so on.'),
    updated: timeSchema.nullable().describe('When it was stored. An equal pillar is not stored.'),
    jid: z.string().nullable().describe('The job that the minion answered with it.'),
    masked: z.boolean().describe('True if `********` stands for each value.'),
  })
  .meta({ id: 'MinionPart' });
export type MinionPart = z.infer<typeof minionPartSchema>;

/** Shows a pillar. */
export const pillarQuery = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(TEXT_MAX)
    .optional()
    .describe('A part of it alone, by keys and places in lists, as `web:users:0`.'),
  reveal: flagSchema.optional().describe('Values instead of masks. This is on record.'),
});

/** Selects jobs of a minion. */
export const minionJobsQuery = z.strictObject({
  ...pageQuery,
  fun: z.string().min(1).max(TEXT_MAX).optional().describe('A shell pattern for a function.'),
  state: z.enum(LEDGER_STATES).optional(),
});

/** The part of a minion in a job. */
export const minionJobSchema = z
  .object({
    jid: z.string(),
    fun: z.array(z.string()),
    published: timeSchema,
    state: z.enum(LEDGER_STATES),
    retcode: z.int().nullable(),
    returned: timeSchema.nullable(),
  })
  .meta({ id: 'MinionJob' });

/** A page of them, newest first. A page of a rare match may be empty and have a next. */
export const minionJobsPageSchema = z
  .object({ items: z.array(minionJobSchema), ...pageParts })
  .meta({ id: 'MinionJobsPage' });
export type MinionJobsPage = z.infer<typeof minionJobsPageSchema>;
