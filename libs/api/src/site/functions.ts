import { z } from 'zod';
import { pageParts, pageQuery } from '../pages.ts';

const NAME_MAX = 255;
const kindSchema = z.enum(['module', 'runner', 'state', 'wheel']);

/** The parameters of a list of functions. */
export const functionsQuery = z.strictObject({
  kind: kindSchema.optional(),
  q: z.string().min(1).max(NAME_MAX).optional().describe('A part of the name.'),
  ...pageQuery,
});

/** Which function is meant. */
export const functionParams = z.strictObject({
  kind: kindSchema,
  name: z.string().min(1).max(NAME_MAX),
});

/** A function of the master, its site or its minions. */
export const functionSchema = z
  .object({
    kind: kindSchema,
    name: z.string(),
    parameters: z.array(
      z.object({
        name: z.string(),
        required: z.boolean(),
        default: z.string().nullable().describe('As Python writes it; null where it is required.'),
      }),
    ),
    open: z
      .enum(['args', 'kwargs', 'any'])
      .nullable()
      .describe('Further arguments, further keywords, or both; null: neither.'),
    doc: z.string().describe('At most 64 KiB.'),
    source: z.string().describe('`brine`, `site`, or `minion` and its release.'),
  })
  .meta({ id: 'MasterFunction' });
export type MasterFunction = z.infer<typeof functionSchema>;

/** A page of functions. */
export const functionsSchema = z
  .object({
    items: z.array(functionSchema),
    ...pageParts,
    complete: z.boolean().describe('False while no minion has described its functions.'),
  })
  .meta({ id: 'MasterFunctions' });
export type MasterFunctions = z.infer<typeof functionsSchema>;
