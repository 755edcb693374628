import { z } from 'zod';
import { timeSchema } from '../times.ts';

const serviceSchema = z
  .object({
    service: z.string(),
    name: z.string().describe('As `worker-pool-2`; in containers the same as the service.'),
    host: z.string(),
    machine: z.string().describe('Its machine, container or pod.'),
    release: z.string(),
    node: z.string(),
    pid: z.int(),
    ready: z.boolean(),
    leaving: z.boolean().describe('It was replaced, and finishes its work.'),
    started: timeSchema.nullable(),
    aheadMs: z.number().nullable().describe('Its clock minus that of the worker that asked.'),
    status: z.record(z.string(), z.unknown()).describe('What it reports of its work.'),
  })
  .meta({ id: 'ServiceReport', description: 'A process of the master, as it reports itself.' });

/** The services of all hosts. */
export const servicesSchema = z
  .object({
    serving: z.boolean().describe('True without trouble.'),
    trouble: z.array(z.string()).describe('Services that are missing or not ready.'),
    silentHosts: z
      .array(z.object({ host: z.string(), behind: z.int().min(0) }))
      .describe('Hosts that are known by their place in the streams, and the messages they miss.'),
    services: z.array(serviceSchema),
    leftOut: z.int().min(0).describe('Answers beyond the limits of a call.'),
  })
  .meta({ id: 'Services' });
export type Services = z.infer<typeof servicesSchema>;
export type ServiceReport = Services['services'][number];
