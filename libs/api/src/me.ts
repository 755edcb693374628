import { z } from 'zod';
import { timeSchema } from './times.ts';

const functionRule = z.object({
  fun: z.string().describe('A regular expression for names of functions.'),
  arguments: z
    .array(
      z.object({
        args: z.array(z.string().nullable()),
        kwargs: z.record(z.string(), z.string().nullable()),
      }),
    )
    .optional()
    .describe('The arguments that it may have; any, where this is absent.'),
});

/** One right, as `external_auth` or `publisher_acl` gives it. */
export const rightSchema = z
  .object({
    on: z
      .string()
      .describe(
        'A compound target, `*`, or a word such as `@runner`, `@wheel`, `@jobs`, `@events`.',
      ),
    functions: z.array(functionRule),
  })
  .meta({ id: 'Right' });
export type Right = z.infer<typeof rightSchema>;

/** Who asks, and what it may do. */
export const meSchema = z
  .object({
    principal: z.string(),
    eauth: z.string(),
    groups: z.array(z.string()),
    expires: timeSchema,
    readsAll: z.boolean().describe('True if each job, event and value is shown to this caller.'),
    clients: z
      .array(z.string())
      .describe(
        'What the site lets callers of `/v1` do at all: of `netapi_enable_clients`, those that ' +
          'its requests ask for.',
      ),
    rights: z.array(rightSchema),
  })
  .meta({ id: 'Me' });
export type Me = z.infer<typeof meSchema>;
