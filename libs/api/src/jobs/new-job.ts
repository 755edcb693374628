import { z } from 'zod';
import { targetFields } from '../targets.ts';
import { LEDGER_STATES } from './jobs.ts';
import { value } from './value.ts';

const TEXT_MAX = 1_024;
const DEADLINE_MAX_S = 365 * 86_400;

const share = z.string().regex(/^\d{1,6}((\.\d{1,6})?%)?$/);

/** A command for minions. */
export const newJobSchema = z
  .strictObject({
    ...targetFields,
    fun: z.string().min(1).max(TEXT_MAX).describe('The function, for example `state.apply`.'),
    arg: z.array(value).max(10_000).default([]),
    kwarg: z.record(z.string().min(1).max(TEXT_MAX), value).default({}),
    ret: z
      .array(z.string().min(1).max(TEXT_MAX))
      .max(100)
      .default([])
      .describe('Returners of the minions, as `salt --return`.'),
    metadata: z
      .record(z.string().min(1).max(255), value)
      .default({})
      .describe('Kept with the job, for searches.'),
    deadline: z
      .int()
      .min(0)
      .max(DEADLINE_MAX_S)
      .optional()
      .describe('Seconds after which a minion that has not returned counts as never.'),
    durable: z
      .int()
      .min(1)
      .max(30 * 86_400)
      .optional()
      .describe('Seconds for which it is sent again to minions that are away.'),
    batch: z
      .strictObject({
        size: share.describe('Minions that run at a time, as `10` or `25%`.'),
        canary: share.optional().describe('These run first; the others wait for their success.'),
        halt: share.optional().describe('It stops when more than these have failed.'),
        failhard: z.boolean().default(false).describe('It stops with the first failure.'),
        wait: z.number().min(0).max(86_400).default(0).describe('Seconds between two minions.'),
      })
      .optional()
      .describe('On some minions at a time. Not with `durable`.'),
    expect: z
      .strictObject({
        count: z.int().min(0),
        digest: z.string().min(1).max(256).optional(),
      })
      .optional()
      .describe('As `targets/resolve` counted it: with other minions the job is refused.'),
  })
  .meta({ id: 'NewJob' });
export type NewJob = z.output<typeof newJobSchema>;

/** A job that was published. */
export const begunJobSchema = z.object({ jid: z.string() }).meta({ id: 'BegunJob' });
export type BegunJob = z.infer<typeof begunJobSchema>;

const expect = newJobSchema.shape.expect;

/** Runs a job once more. */
export const rerunSchema = z
  .strictObject({
    states: z
      .array(z.enum(LEDGER_STATES))
      .min(1)
      .max(LEDGER_STATES.length)
      .describe('On its minions in these states.'),
    expect,
  })
  .meta({ id: 'Rerun' });

/** Ends the work of a job on the minions that have not returned. */
export const signalSchema = z
  .strictObject({ act: z.enum(['term', 'kill']), expect })
  .meta({ id: 'Signal' });
