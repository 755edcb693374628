import type { Finding } from '../findings/finding.ts';
import type { BackendSeen } from './facts/backends.ts';

/** Checks that the servers named by options can be reached from this host. */
export function checkBackends(backends: readonly BackendSeen[]): Finding[] {
  const away = backends.filter(({ why }) => why !== undefined);
  if (away.length > 0) {
    return away.map(({ option, host, port, why }) => {
      const text = `${option} names ${host}:${port}, which can not be reached from here: ${why}`;
      return { level: 'warn', check: 'backends', text: `${text}; start it, or open the way` };
    });
  }
  if (backends.length === 0) return [];
  const text = `${backends.length} servers that options name can be reached`;
  return [{ level: 'ok', check: 'backends', text }];
}
