import type { ProbedService } from '@brine/service';
import { uptime } from './figures.ts';

/** What services say of the work that they do again and again. */
const RAN_AT = 'ranAt';
const DEPTH_MAX = 3;

/**
 * When each work of the cluster was last done, by any of these services; empty where none tells.
 */
export function maintenanceLine(services: readonly Pick<ProbedService, 'status'>[]): string {
  const last = new Map<string, string>();
  for (const { status } of services) if (status !== undefined) collect(status, last, 0);
  const shown = [...last]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, at]) => `${name} ${uptime(at)} ago`);
  return shown.length === 0 ? '' : `maintenance: ${shown.join(', ')}\n`;
}

function collect(status: object, last: Map<string, string>, depth: number): void {
  for (const [key, value] of Object.entries(status) as [string, unknown][]) {
    if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) continue;
    if (key !== RAN_AT) {
      collect(value, last, depth + 1);
      continue;
    }
    for (const [name, at] of Object.entries(value) as [string, unknown][]) {
      if (typeof at === 'string' && at > (last.get(name) ?? '')) last.set(name, at);
    }
  }
}
