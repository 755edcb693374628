import { z } from 'zod';
import { momentSchema, pageParts, pageQuery } from '../pages.ts';
import { timeSchema } from '../times.ts';

const text = z.string().min(1).max(255);

/** The kinds of acts on record (libs/job audited-act). */
const ACTS = ['login', 'key', 'publish', 'runner', 'wheel', 'token', 'request', 'read'] as const;

/** The parameters of a list of acts. */
export const auditQuery = z.strictObject({
  who: text.optional().describe('The name that was proven, or only given.'),
  act: z.enum(ACTS).optional(),
  from: momentSchema.optional().describe('A time or an age: at or after.'),
  to: momentSchema.optional().describe('A time or an age: before.'),
  ...pageQuery,
});

/** Acts on record, newest first. */
export const auditSchema = z
  .object({
    items: z.array(
      z
        .object({
          row: z.string().describe('Its writer and its number.'),
          at: timeSchema,
          kind: z.string(),
          outcome: z.string(),
          principal: z.string().optional().describe('The name that was proven.'),
          claimed: z.string().optional().describe('A name that was only given.'),
          fun: z.string().optional(),
          target: z.string().optional(),
          path: z.string().optional().describe('Of a pillar that was revealed in part.'),
          jid: z.string().optional(),
          via: z.string().optional().describe('The call that it came from.'),
          peer: z.string().optional(),
          source: z.string().optional(),
        })
        .meta({ id: 'AuditedAct' }),
    ),
    ...pageParts,
  })
  .meta({ id: 'Audit' });
export type AuditPage = z.infer<typeof auditSchema>;
export type AuditedAct = AuditPage['items'][number];
