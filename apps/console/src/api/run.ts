import type { Resolved } from '@brine/api';
import type { BegunJob } from '@brine/api/jobs';
import type { MasterFunction, MasterFunctions, Templates } from '@brine/api/site';
import { queryOptions } from '@tanstack/react-query';
import type { RunOf } from '../state/run/run-command.ts';
import type { RunBody } from '../state/run/run-request.ts';
import { ask, pathOf } from './ask.ts';

/** How often the minions of a target are counted again, ms. */
const COUNT_MS = 15_000;
/** Functions that are offered while one types. */
const OFFERED = 20;
/** Documentation changes with a release alone, ms. */
const DOC_MS = 600_000;

/** Minions are counted for it while no function is chosen. */
export const USUAL_FUNCTION = 'test.ping';

/** Minions of a target; undefined without one. */
export type Target = { readonly tgt: string | readonly string[]; readonly tgtType: string };

/** Counts the minions to which a command would go. */
export function resolveQuery(target: Target | undefined, fun: string) {
  const judged = fun === '' ? USUAL_FUNCTION : fun;
  return queryOptions({
    queryKey: ['resolve', target, judged],
    queryFn: ({ signal }) =>
      ask<Resolved>('/targets/resolve', { body: { ...target, fun: judged }, signal }),
    enabled: target !== undefined,
    refetchInterval: COUNT_MS,
    gcTime: COUNT_MS,
  });
}

/** Functions whose name has a text in it. */
export function functionsQuery(kind: RunOf, q: string) {
  return queryOptions({
    queryKey: ['functions', kind, q],
    queryFn: ({ signal }) =>
      ask<MasterFunctions>('/functions', { query: { kind, q, limit: OFFERED }, signal }),
    staleTime: DOC_MS,
  });
}

/** One function with its documentation. */
export function functionQuery(kind: RunOf, name: string) {
  return queryOptions({
    queryKey: ['function', kind, name],
    queryFn: ({ signal }) => ask<MasterFunction>(`/functions${pathOf(kind, name)}`, { signal }),
    enabled: name.includes('.'),
    staleTime: DOC_MS,
    retry: false,
  });
}

/** Commands that the operator has prepared. */
export const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: ({ signal }) => ask<Templates>('/templates', { signal }),
  staleTime: DOC_MS,
});

/** Sends a command. @throws ApiError with the code `changed` where its minions are others now */
export function sendRun(
  path: '/jobs' | '/runs',
  body: RunBody,
  idempotencyKey: string,
): Promise<BegunJob> {
  return ask(path, { body, idempotencyKey });
}
