import { z } from 'zod';
import { timeSchema } from '../times.ts';

const name = z.string().min(1).max(255).describe('Of a job of the schedule.');
const at = z.iso.datetime({ offset: true });

const runSchema = z.object({
  due: timeSchema,
  jid: z.string().optional(),
  ended: timeSchema.optional(),
  running: z.boolean(),
  success: z.boolean().optional(),
  skipped: z.string().optional().describe('Why it did not run.'),
});

/** The schedule of the master. */
export const scheduleSchema = z
  .object({
    items: z.array(
      z.object({
        name: z.string(),
        fun: z.string(),
        enabled: z.boolean(),
        next: timeSchema.nullable().describe('Null: never.'),
        runs: z.array(runSchema).describe('The last ones, newest first.'),
        skipped: z
          .object({ at: timeSchema, reason: z.string() })
          .nullable()
          .describe('The last time that was left out.'),
      }),
    ),
    notInForce: z.array(z.object({ where: z.string(), why: z.string() })),
  })
  .meta({ id: 'Schedule' });
export type Schedule = z.infer<typeof scheduleSchema>;
export type ScheduledRun = z.infer<typeof runSchema>;

/** An act on the schedule, or on one job of it. */
export const scheduleActSchema = z
  .discriminatedUnion('act', [
    z.strictObject({
      act: z.literal('run'),
      name,
      force: z.boolean().default(false).describe('Also where it is switched off.'),
    }),
    z.strictObject({ act: z.literal('skip'), name, at: at.describe('The time to leave out.') }),
    z.strictObject({
      act: z.literal('postpone'),
      name,
      at: at.describe('The time to leave out.'),
      to: at.describe('The time to run at instead.'),
    }),
    z.strictObject({ act: z.literal('enable'), name: name.optional() }),
    z.strictObject({ act: z.literal('disable'), name: name.optional() }),
  ])
  .meta({ id: 'ScheduleAct', description: 'Without a name: the whole schedule.' });
export type ScheduleAct = z.output<typeof scheduleActSchema>;
export type ScheduleActInput = z.input<typeof scheduleActSchema>;
