import type { Finding } from '../findings/finding.ts';
import type { PortSeen } from './facts/facts.ts';

/** Checks that the ports for minions are the master's, or free. */
export function checkPorts(ports: readonly PortSeen[], runs: boolean): Finding[] {
  const findings = ports.flatMap((seen) => (runs ? whileItRuns(seen) : whileItDoesNot(seen)));
  if (findings.length > 0) return findings;
  const names = ports.map(({ port }) => port).join(', ');
  const text = runs ? `the master serves ${names}` : `${names} are free for the master`;
  return ports.length === 0 ? [] : [{ level: 'ok', check: 'ports', text }];
}

function whileItRuns({ port, service, isListenedOn, answers }: PortSeen): Finding[] {
  if (!isListenedOn) {
    const text = `nothing listens on port ${port}: see ${service} in \`brine status\``;
    return [{ level: 'bad', check: 'ports', text }];
  }
  if (answers !== false) return [];
  const text = `port ${port} takes connections and answers no ping: see \`brine status\``;
  return [{ level: 'bad', check: 'ports', text }];
}

function whileItDoesNot({ port, isListenedOn, by = 'another process' }: PortSeen): Finding[] {
  if (!isListenedOn) return [];
  const text = `port ${port} is taken by ${by}: no master can start until it is free`;
  return [{ level: 'warn', check: 'ports', text }];
}
