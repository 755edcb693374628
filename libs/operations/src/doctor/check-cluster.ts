import { type Finding, some } from '../findings/finding.ts';
import { type Cluster, type ClusterService, silentHosts, troubleOf } from '../roll/roll.ts';

/**
 * Allowed difference between the clocks of hosts. Deadlines of requests, job ids and expiry of
 * tokens are times that other hosts judge.
 */
const SKEW = [
  { level: 'bad', ms: 10_000 },
  { level: 'warn', ms: 1_000 },
] as const;

/** Checks that the services of all hosts serve, with one release and one time. */
export function checkCluster(
  cluster: Cluster,
  silent: readonly string[],
  installed: string,
): Finding[] {
  const trouble = [
    ...troubleOf(cluster),
    ...silent.map((name) => `${name} of this host does not answer`),
  ];
  const findings: Finding[] = trouble.map((text) => {
    return { level: 'bad', check: 'services', text: `${text}: see \`brine status --all\`` };
  });
  const serve = `${cluster.services.length} services serve`;
  if (trouble.length === 0) findings.push({ level: 'ok', check: 'services', text: serve });
  findings.push(...checkClocks(cluster.services), ...checkReleases(cluster.services, installed));
  findings.push(...checkHttp(cluster.services));
  for (const { host, behind } of silentHosts(cluster)) {
    const text = `host ${host} is silent and ${behind} messages behind: start it, or forget it`;
    findings.push({ level: 'warn', check: 'hosts', text });
  }
  return findings;
}

/** An HTTP API whose port another program has serves without it, and tries again. */
function checkHttp(services: readonly ClusterService[]): Finding[] {
  const waiting = services.filter(({ service, status }) => {
    const { endpoints } = status;
    return service === 'http-api' && Array.isArray(endpoints) && !endpoints.every(isListening);
  });
  return waiting.map(({ name, machine }) => {
    const text = `${name} on ${machine} does not listen: another program has the port; see its log`;
    return { level: 'warn', check: 'http', text };
  });
}

function isListening(endpoint: unknown): boolean {
  return typeof endpoint === 'object' && endpoint !== null && 'endpoint' in endpoint;
}

function checkClocks(services: readonly ClusterService[]): Finding[] {
  const best = new Map<string, ClusterService>();
  for (const one of services) {
    const known = best.get(one.host);
    if (one.aheadMs === undefined || (known !== undefined && known.withinMs <= one.withinMs)) {
      continue;
    }
    best.set(one.host, one);
  }
  // Reports are relative to the clock of the calling process; compare hosts with each other.
  const hosts = [...best.values()].sort((a, b) => (a.aheadMs ?? 0) - (b.aheadMs ?? 0));
  const [first, last] = [hosts[0], hosts.at(-1)];
  if (hosts.length < 2 || first === undefined || last === undefined) return [];
  const apartMs = (last.aheadMs ?? 0) - (first.aheadMs ?? 0);
  const sureMs = apartMs - last.withinMs - first.withinMs;
  const found = SKEW.find(({ ms }) => sureMs > ms);
  if (found === undefined) {
    const text = `the clocks of ${hosts.length} hosts agree within a second`;
    return [{ level: 'ok', check: 'clock-skew', text }];
  }
  const seconds = (apartMs / 1000).toFixed(1);
  const text = `${last.host} is ${seconds} s ahead of ${first.host}: let chrony keep their clocks`;
  return [{ level: found.level, check: 'clock-skew', text }];
}

function checkReleases(services: readonly ClusterService[], installed: string): Finding[] {
  const serving = services.filter(({ leaving, release }) => !leaving && release !== '');
  const byRelease = new Map<string, Set<string>>();
  for (const { release, host } of serving) {
    byRelease.set(release, (byRelease.get(release) ?? new Set()).add(host));
  }
  if (byRelease.size === 0) return [];
  if (byRelease.size > 1) {
    const parts = [...byRelease].map(([release, hosts]) => `${release} on ${some([...hosts])}`);
    const text = `services of several releases run: ${parts.join('; ')}: end the upgrade there`;
    return [{ level: 'warn', check: 'release-skew', text }];
  }
  const [release = ''] = byRelease.keys();
  if (release === installed) {
    return [{ level: 'ok', check: 'release-skew', text: `all services run ${release}` }];
  }
  const text = `${release} runs, and ${installed} is installed here: \`brine restart\` replaces it`;
  return [{ level: 'warn', check: 'release-skew', text }];
}
