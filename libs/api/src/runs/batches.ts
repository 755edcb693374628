import { z } from 'zod';
import { pageParts, pageQuery } from '../pages.ts';
import { timeSchema } from '../times.ts';

const count = z.int().min(0);
const ids = z.array(z.string());

const batchShape = {
  jid: z.string(),
  fun: z.array(z.string()),
  tgt: z.array(z.string()),
  tgtType: z.string(),
  user: z.string(),
  size: count.describe('Minions that run at a time.'),
  total: count,
  completed: count,
  active: count,
  pending: count,
  failed: count.describe('Minions that did not answer.'),
  retcode: z.int().describe('The highest one.'),
  paused: z.boolean(),
  halted: z.string().nullable().describe('Why it was stopped before its end.'),
  created: timeSchema.nullable(),
  lastProgress: timeSchema.nullable(),
  ended: z.boolean(),
};

/** The parameters of a list of batches. */
export const batchesQuery = z.strictObject({
  state: z.enum(['open', 'ended']).optional().describe('Without it: both.'),
  ...pageQuery,
});

/** A page of batches, newest first. */
export const batchesSchema = z
  .object({ items: z.array(z.object(batchShape).meta({ id: 'Batch' })), ...pageParts })
  .meta({ id: 'Batches' });
export type BatchesShown = z.infer<typeof batchesSchema>;

/** One batch. */
export const batchSchema = z
  .object({
    ...batchShape,
    minions: z
      .object({
        active: ids,
        silent: ids.describe('They did not answer.'),
        wave: z
          .object({ dispatched: ids, finished: ids, silent: ids })
          .describe('What changed with the last step.'),
      })
      .optional()
      .describe('Up to 1,000 of each, while it runs, for a caller that sees the whole job.'),
  })
  .meta({ id: 'BatchDetail' });
export type BatchDetail = z.infer<typeof batchSchema>;

/** How a batch is stopped. */
export const stopSchema = z
  .strictObject({
    kill: z.boolean().default(false).describe('Also ends the job on minions that run it.'),
  })
  .meta({ id: 'BatchStop' });
