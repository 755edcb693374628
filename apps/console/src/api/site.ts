import type { Config, Doctor, Services } from '@brine/api/site';
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

/** The services report themselves: asked again so often, ms. */
const SERVICES_MS = 10_000;
/** An examination reads files and asks servers: asked again so often, ms. */
const DOCTOR_MS = 60_000;

/** The services of all hosts. */
export const servicesQuery = queryOptions({
  queryKey: ['services'],
  queryFn: ({ signal }) => ask<Services>('/services', { signal }),
  refetchInterval: SERVICES_MS,
});

/** What the doctor finds on the host that answers. */
export const doctorQuery = queryOptions({
  queryKey: ['doctor'],
  queryFn: ({ signal }) => ask<Doctor>('/doctor', { signal }),
  refetchInterval: DOCTOR_MS,
});

/** The options of the master. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: ({ signal }) => ask<Config>('/config', { signal }),
  staleTime: DOCTOR_MS,
});
