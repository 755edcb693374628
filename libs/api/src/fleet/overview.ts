import { z } from 'zod';
import { positionSchema } from '../pages.ts';
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

/** The state of the master and its fleet. */
export const overviewSchema = z
  .object({
    fleet: z.object({ total: z.int().min(0), facets: facetsSchema }),
    services: z
      .array(serviceSchema)
      .nullable()
      .describe(
        'Those that answer now; null for a caller without the right to the runner `manage.status`.',
      ),
    asOf: positionSchema,
  })
  .meta({ id: 'Overview' });
export type Overview = z.infer<typeof overviewSchema>;
