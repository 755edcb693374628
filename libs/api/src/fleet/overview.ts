import { z } from 'zod';
import { positionSchema } from '../pages.ts';
import { timeSchema } from '../times.ts';
import { facetsSchema } from './minions.ts';

/** A process of the master, as it reports itself. */
const serviceSchema = z
  .object({
    service: z.string(),
    host: z.string(),
    ready: z.boolean(),
    release: z.string(),
  })
  .meta({ id: 'Service' });

const count = z.int().min(0);

const jobNumbersSchema = z
  .object({
    open: count.describe('Jobs of the last day that wait for minions.'),
    perMinute: z
      .array(z.object({ at: timeSchema, jobs: count, returns: count, failed: count }))
      .describe('The last 60 minutes: jobs that began then, and what came of these until now.'),
    isWhole: z.boolean().describe('False: only the newest 20,000 jobs were counted.'),
    quarantined: count
      .nullable()
      .describe('Jobs and returns in quarantine; null for a caller that sees its own jobs alone.'),
  })
  .meta({ id: 'JobNumbers' });

/** The state of the master and its fleet. */
export const overviewSchema = z
  .object({
    fleet: z.object({ total: z.int().min(0), facets: facetsSchema }),
    jobs: jobNumbersSchema
      .nullable()
      .describe('All jobs for a caller that sees them, else its own; null without the job cache.'),
    services: z
      .array(serviceSchema)
      .nullable()
      .describe(
        'Those that answer now; null for a caller without the right to the runner `manage.status`.',
      ),
    trouble: z
      .array(z.string())
      .nullable()
      .describe('Services that are missing or not ready; null as these.'),
    asOf: positionSchema,
  })
  .meta({ id: 'Overview' });
export type Overview = z.infer<typeof overviewSchema>;
