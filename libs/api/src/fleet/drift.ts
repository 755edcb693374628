import { z } from 'zod';
import { pageParts, pageQuery, positionSchema } from '../pages.ts';
import { runSchema, several } from './minions.ts';

const ID_MAX = 255;
const DRIFTS = ['failed', 'would', 'clean', 'unknown'] as const;
const ORDERS = ['id', 'stateRun', 'testRun', 'would'] as const;

const driftSchema = z.enum(DRIFTS).meta({
  id: 'Drift',
  description:
    'By the newer one of the last run of states and the last run with test=True. would: states ' +
    'would change. unknown: neither is known, or the caller may not see them.',
});

/** The parameters of a list of minions by how they stand to their states. */
export const driftQuery = z.strictObject({
  q: z
    .string()
    .min(1)
    .max(ID_MAX)
    .regex(/^[^[\]]*$/)
    .optional()
    .describe('A part of the id, or a pattern for all of it with `*` and `?`.'),
  state: several(driftSchema).optional(),
  sort: z
    .enum(ORDERS.flatMap((order) => [order, `-${order}`] as const))
    .default('id')
    .describe('With `-` downwards. Minions with the same value follow by id.'),
  facets: z.enum(['true', 'false']).default('false').describe('Whether to count them by state.'),
  ...pageQuery,
});
export type DriftQuery = z.output<typeof driftQuery>;

const count = z.int().min(0);

/** How a minion stands to its states. */
const minionDriftSchema = z
  .object({
    id: z.string(),
    state: driftSchema,
    stateRun: runSchema.nullable().describe('The last run, without those with test=True.'),
    testRun: runSchema
      .extend({ would: count.nullable().describe('States that would change; null: not counted.') })
      .nullable()
      .describe('The last run with test=True.'),
    age: z.number().min(0).nullable().describe('Seconds since the newer one of the two.'),
  })
  .meta({ id: 'MinionDrift' });
export type DriftShown = z.infer<typeof minionDriftSchema>;

/** A page of minions by how they stand to their states. */
export const driftPageSchema = z
  .object({
    items: z.array(minionDriftSchema),
    total: count.describe('Minions that match, on all pages.'),
    facets: z
      .object({ state: z.object({ failed: count, would: count, clean: count, unknown: count }) })
      .optional()
      .describe('How many minions have which state, without the filter for it.'),
    asOf: positionSchema.describe('A stream of events from here has each later run.'),
    ...pageParts,
  })
  .meta({ id: 'DriftPage' });
export type DriftPage = z.infer<typeof driftPageSchema>;
