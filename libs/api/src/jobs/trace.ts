import { z } from 'zod';

/** The address of a trace: of a job or a run that has a jid of Salt's form. */
export const traceParams = z.strictObject({ jid: z.string().regex(/^\d{20}$/) });

/** The trace of a job, as `brine trace --json` prints it. */
export const traceSchema = z
  .object({
    jid: z.string(),
    traceId: z.string(),
    spans: z.int().min(0),
    spansLeftOut: z.int().min(0),
    roots: z.array(z.unknown()).describe('Spans with their children.'),
  })
  .catchall(z.unknown())
  .meta({ id: 'Trace' });
export type JobTrace = z.infer<typeof traceSchema>;
