import { z } from 'zod';
import { pageParts, pageQuery, positionSchema } from '../pages.ts';
import { timeSchema } from '../times.ts';

/** The grains that minions are listed, filtered and counted by. */
export const LISTED_GRAINS = ['os', 'osrelease', 'kernel', 'saltversion'] as const;

const TEXT_MAX = 255;
const VALUES_MAX = 32;
/** More than any fleet. */
const OFFSET_MAX = 10_000_000;

/** One value, or the parameter again for each of several. */
export function several<T extends z.ZodType>(one: T): z.ZodUnion<readonly [T, z.ZodArray<T>]> {
  return z.union([one, z.array(one).min(1).max(VALUES_MAX)]);
}

export const keyStateSchema = z
  .enum(['accepted', 'pending', 'rejected', 'denied'])
  .meta({ id: 'KeyState', description: 'denied: another key than a known one was offered.' });

const text = z.string().min(1).max(TEXT_MAX);
const yesNo = z.enum(['true', 'false']);

const ORDERS = ['id', 'key', 'present', 'since', 'seen', 'stateRun', ...LISTED_GRAINS] as const;
const sorts = ORDERS.flatMap((order) => [order, `-${order}`] as const);

const grainParameter = new RegExp(`^(${LISTED_GRAINS.join('|')}):`);

/** The parameters of a list of minions. */
export const minionsQuery = z.strictObject({
  q: text
    .regex(/^[^[\]]*$/)
    .optional()
    .describe('A part of the id, or a pattern for all of it with `*` and `?`.'),
  key: several(keyStateSchema).optional(),
  present: yesNo.optional().describe('Whether an accepted minion is connected.'),
  version: several(text).optional().describe('The release of Salt: the grain `saltversion`.'),
  os: several(text).optional(),
  grain: several(text.regex(grainParameter))
    .optional()
    .describe(`name:value, with one of these names: ${LISTED_GRAINS.join(', ')}.`),
  silentSince: text.optional().describe('Not seen since this time or for this age, as `10m`.'),
  sort: z
    .enum(sorts)
    .default('id')
    .describe('With `-` downwards. Minions with the same value follow by id.'),
  facets: yesNo.default('false').describe('Whether to count the minions by their values.'),
  ...pageQuery,
  offset: z.coerce
    .number()
    .int()
    .min(0)
    .max(OFFSET_MAX)
    .optional()
    .describe('Minions that are left out before the page, instead of `after`.'),
});
export type MinionsQuery = z.output<typeof minionsQuery>;

/** The parameters of a list whose rows are followed: its window is given beside them. */
export const minionsFilter = minionsQuery.omit({ limit: true, after: true, offset: true });
export type MinionsFilter = z.output<typeof minionsFilter>;

const grainsShown = z.object(
  Object.fromEntries(LISTED_GRAINS.map((name) => [name, z.string().nullable()])) as Record<
    (typeof LISTED_GRAINS)[number],
    z.ZodNullable<z.ZodString>
  >,
);

export const runSchema = z
  .object({ jid: z.string(), at: timeSchema, result: z.enum(['ok', 'failed']) })
  .meta({ id: 'StateRun' });

const minionParts = {
  id: z.string(),
  key: keyStateSchema,
  hasDenied: z.boolean().describe('Whether another key of this id was denied.'),
  present: z
    .boolean()
    .nullable()
    .describe('Whether it is connected; null unless its key is accepted.'),
  since: timeSchema.nullable().describe('Since when it is connected or not; null: not known.'),
  seen: z
    .object({
      at: timeSchema,
      by: z.enum(['return', 'event', 'grains']).describe('What it sent.'),
    })
    .nullable()
    .describe('When it sent something last, as far as this process knows.'),
  grains: grainsShown.describe('Null: it has none, or the caller may not read its grains.'),
  stateRun: runSchema
    .nullable()
    .describe('The last run of states that is known. Runs with test=True are left out.'),
};

/** One minion. */
export const minionSchema = z.object(minionParts).meta({ id: 'Minion' });
export type MinionShown = z.infer<typeof minionSchema>;

const count = z.int().min(0);

/** How many minions have which value, each counted without the filter for it. */
export const facetsSchema = z
  .object({
    key: z.object({ accepted: count, pending: count, rejected: count, denied: count }),
    present: z.object({ yes: count, no: count }),
    grains: z.array(
      z.object({
        name: z.enum(LISTED_GRAINS),
        values: z.array(z.object({ value: z.string(), count })),
        others: count.describe('Values beyond the fifty most frequent ones.'),
      }),
    ),
  })
  .meta({ id: 'MinionFacets' });

/** A page of minions. */
export const minionsSchema = z
  .object({
    items: z.array(minionSchema),
    total: count.describe('Minions that match, on all pages.'),
    facets: facetsSchema.optional(),
    asOf: positionSchema.describe('A stream of events from here has each later change.'),
    ...pageParts,
  })
  .meta({ id: 'Minions' });
export type MinionsPage = z.infer<typeof minionsSchema>;

/** The address of one minion. */
export const minionParams = z.strictObject({ id: text });

/** One minion with more than its row. */
export const minionDetailSchema = z
  .object({
    ...minionParts,
    keyChanged: timeSchema.nullable().describe('Null also without the right to list keys.'),
    asOf: positionSchema,
  })
  .meta({ id: 'MinionDetail' });
export type MinionDetail = z.infer<typeof minionDetailSchema>;

/** The grains of a minion. */
export const grainsSchema = z
  .object({
    grains: z.record(z.string(), z.unknown()).nullable().describe('Null before it sent some.'),
    updated: timeSchema.nullable().describe('When they were stored.'),
  })
  .meta({ id: 'Grains' });
export type Grains = z.infer<typeof grainsSchema>;
