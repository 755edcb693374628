import { getText } from './get-text.ts';
import type { ServiceState } from './processes/child-service.ts';

const PROBE = {
  timeoutMs: 1000,
  /** A status is a few numbers; the rest is not read. */
  maxBytes: 1_048_576,
};

/** A service and its answer. */
export interface ProbedService extends ServiceState {
  /** True if it answered that it serves. */
  readonly ready: boolean;
  /** The service's report about itself; undefined if it did not answer. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
}

/** Asks the health endpoint of a service. Never rejects: no answer is a result too. */
export async function probeService(state: ServiceState, host: string): Promise<ProbedService> {
  if (state.healthPort === undefined) return { ...state, ready: false, status: undefined };
  const address = { host, port: state.healthPort };
  const [ready, status] = await Promise.all([
    getText(address, '/readyz', PROBE),
    getText(address, '/status', PROBE),
  ]);
  return { ...state, ready: ready?.code === 200, status: parse(status?.body) };
}

function parse(body: string | undefined): Record<string, unknown> | undefined {
  if (body === undefined) return undefined;
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    // Another program listens on that port by now.
    return undefined;
  }
}
