import type { ProbedService } from '@brine/service';
import { uptime } from './figures.ts';

/** The field in which services report the last run of each periodic task. */
const RAN_AT = 'ranAt';
const DEPTH_MAX = 3;

/** The last run of each periodic cluster task by any of these services; empty if none reports. */
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
