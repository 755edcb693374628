import { z } from 'zod';
import { value } from '../jobs/value.ts';
import { momentSchema, pageParts, pageQuery } from '../pages.ts';
import { timeSchema } from '../times.ts';

const TEXT_MAX = 1_024;

const client = z.enum(['runner', 'wheel']);

/** A function of the master that is to run. */
export const newRunSchema = z
  .strictObject({
    client,
    fun: z
      .string()
      .min(1)
      .max(TEXT_MAX)
      .regex(/^[^.]+\..+$/)
      .describe('The function, for example `state.orchestrate`.'),
    arg: z.array(value).max(10_000).default([]),
    kwarg: z.record(z.string().min(1).max(TEXT_MAX), value).default({}),
  })
  .meta({ id: 'NewRun' });
export type NewRun = z.output<typeof newRunSchema>;

/** The parameters of a list of runs. */
export const runsQuery = z.strictObject({
  client: client.optional(),
  fun: z.string().min(1).max(200).optional().describe('A glob, for example `state.*`.'),
  user: z.string().min(1).max(255).optional(),
  from: momentSchema.optional().describe('A time or an age: begun at or after.'),
  to: momentSchema.optional().describe('A time or an age: begun before.'),
  ...pageQuery,
});

const runShape = {
  jid: z.string(),
  client,
  fun: z.string(),
  user: z.string(),
  state: z.enum(['waiting', 'running', 'ended']).describe('waiting: for a process to run it.'),
  success: z.boolean().optional().describe('Of one that has ended.'),
};

/** A page of runs, newest first. */
export const runsSchema = z
  .object({ items: z.array(z.object(runShape).meta({ id: 'Run' })), ...pageParts })
  .meta({ id: 'Runs' });
export type RunsPage = z.infer<typeof runsSchema>;

const stepSchema = z
  .object({
    step: z.string().describe('The tag of its state.'),
    state: z.enum(['running', 'ended']),
    result: z.boolean().nullable().optional().describe('Null: it would change something.'),
    began: timeSchema.optional(),
    ended: timeSchema.optional(),
    jid: z.string().optional().describe('Of the job or the run that it began.'),
  })
  .meta({ id: 'RunStep' });
export type RunStep = z.infer<typeof stepSchema>;

/** One run. */
export const runSchema = z
  .object({
    ...runShape,
    arg: z.array(value),
    kwarg: z.record(z.string(), value),
    steps: z
      .array(stepSchema)
      .optional()
      .describe('Of an orchestration that is running; none where they took too much room.'),
    result: value.optional().describe('What it returned. What JSON can not have: `$bytes`.'),
    retcode: z.int().optional(),
    ended: timeSchema.optional(),
  })
  .meta({ id: 'RunDetail' });
export type RunDetail = z.infer<typeof runSchema>;
