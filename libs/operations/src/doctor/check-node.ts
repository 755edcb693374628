import { endedOn } from '@brine/service';
import type { Finding } from '../findings/finding.ts';

/** Checks that the Node that runs this command still gets security fixes. */
export function checkNode(version = process.versions.node, nowMs = Date.now()): Finding[] {
  const ended = endedOn(version, nowMs);
  if (ended === undefined) return [{ level: 'ok', check: 'node', text: version }];
  const text = `${version} has had no security fixes since ${ended}: install a newer Node`;
  return [{ level: 'warn', check: 'node', text }];
}
