import { z } from 'zod';
import { pageParts, pageQuery } from '../pages.ts';

const NAME_MAX = 255;
const kindSchema = z.enum(['runner', 'wheel']);

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

/** A function of the master. */
export const functionSchema = z
  .object({
    kind: kindSchema,
    name: z.string(),
    parameters: z.array(
      z.object({
        name: z.string(),
        required: z.boolean(),
        default: z.unknown().describe('Null where it is required.'),
      }),
    ),
    open: z
      .enum(['args', 'kwargs', 'any'])
      .nullable()
      .describe('Further arguments, further keywords, or both; null: neither.'),
    doc: z.string(),
  })
  .meta({ id: 'MasterFunction' });
export type MasterFunction = z.infer<typeof functionSchema>;

/** A page of functions. */
export const functionsSchema = z
  .object({ items: z.array(functionSchema), ...pageParts })
  .meta({ id: 'MasterFunctions' });
export type MasterFunctions = z.infer<typeof functionsSchema>;
