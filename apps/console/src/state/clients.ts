import type { Me } from '@brine/api';

/**
 * What one does, and the clients of `netapi_enable_clients` of which one stands for it
 * (libs/netapi enabled.ts).
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

/** Something that a site may have enabled or not. */
export type ClientAct = keyof typeof CLIENTS;

/** Whether the site has it enabled for callers of the API. */
export function isEnabled({ clients }: Pick<Me, 'clients'>, act: ClientAct): boolean {
  return CLIENTS[act].some((name) => clients.includes(name));
}

/** The option that enables it, as one writes it. */
export function enabledBy(act: ClientAct): string {
  return `netapi_enable_clients: [${CLIENTS[act][0]}]`;
}
