import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';

/**
 * What `/v1` does for callers, and the clients of `netapi_enable_clients` of which one stands for
 * it. The console draws by the same table (apps/console state/clients.ts).
 */
const CLIENTS = {
  job: ['local', 'local_async'],
  batch: ['local', 'local_batch'],
  /** A run that is begun. */
  beginRunner: ['runner', 'runner_async'],
  beginWheel: ['wheel', 'wheel_async'],
  /** A call that is waited for. */
  callRunner: ['runner'],
  callWheel: ['wheel'],
} as const;

/** The clients that `/v1` asks for. */
const ASKED_FOR: ReadonlySet<string> = new Set(Object.values(CLIENTS).flat());

/** Something that a client of `netapi_enable_clients` stands for. */
export type ClientAct = keyof typeof CLIENTS;

/** @throws RefusedRequest `forbidden` where the site has none of the clients enabled */
export function needClient({ enabled }: Pick<V1Parts, 'enabled'>, act: ClientAct): void {
  const clients: readonly string[] = CLIENTS[act];
  if (clients.some((name) => enabled.includes(name))) return;
  const [one, other] = clients;
  const lacks = other === undefined ? `does not have ${one}` : `has neither ${one} nor ${other}`;
  throw new RefusedRequest('forbidden', `netapi_enable_clients ${lacks}`);
}

/** Those that the site has enabled, of the clients that `/v1` asks for. */
export function clientsOf({ enabled }: Pick<V1Parts, 'enabled'>): string[] {
  return [...ASKED_FOR].filter((name) => enabled.includes(name)).sort();
}
