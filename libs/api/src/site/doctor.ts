import { z } from 'zod';
import { timeSchema } from '../times.ts';

/** What the doctor found on a host. */
export const doctorSchema = z
  .object({
    host: z.string().describe('`brine.host` of the http-api that answers.'),
    examined: timeSchema.describe('When this was found: it is kept for some seconds.'),
    findings: z
      .array(
        z.object({
          level: z.enum(['ok', 'warn', 'bad']),
          check: z.string(),
          text: z.string(),
          runbook: z.string().describe('The page of the documentation about it.'),
        }),
      )
      .describe('The worst first.'),
  })
  .meta({ id: 'Doctor' });
export type Doctor = z.infer<typeof doctorSchema>;
