import type { ServiceReport } from '@brine/bus/rpc';
import { hostToken } from '@brine/host';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { plainText, pyStr } from '@brine/wire/text';

/** A service of any host, as it reports itself. All texts are safe to print. */
export interface ClusterService {
  /** `worker-pool`. */
  readonly service: string;
  /** `worker-pool-2`; in containers the same as the service. */
  readonly name: string;
  /** `brine.host`. */
  readonly host: string;
  /** Name of its machine, container or pod. */
  readonly machine: string;
  readonly release: string;
  readonly node: string;
  readonly pid: number;
  readonly ready: boolean;
  /** True if it was replaced, and finishes its work. */
  readonly leaving: boolean;
  /** Unix ms; 0 if unknown. */
  readonly startedMs: number;
  /** Its clock minus that of the calling process, ms. */
  readonly aheadMs: number | undefined;
  readonly withinMs: number;
  readonly status: Readonly<Record<string, unknown>>;
}

/** The services of all hosts that answered. */
export interface Cluster {
  readonly services: readonly ClusterService[];
  /** Number of answers beyond the limits of a call. */
  readonly leftOut: number;
}

/** Parses the result of a roll call. Reports of services are not trusted to have any form. */
export function clusterOf(roll: unknown): Cluster {
  const { services, leftOut } = recordOf(roll);
  const report = Array.isArray(services) ? services.map(recordOf) : [];
  const found = report.map((one) => serviceOf(one as Partial<ServiceReport>));
  const order = (one: ClusterService): string => `${one.host}\0${one.machine}\0${one.name}`;
  found.sort((one, other) => (order(one) < order(other) ? -1 : 1));
  return { services: found, leftOut: numberOf(leftOut) };
}

function serviceOf(report: Partial<ServiceReport>): ClusterService {
  const facts = recordOf(report.facts);
  const service = textOf(report.service);
  const host = textOf(facts['host']);
  return {
    service,
    name: textOf(facts['name']) || service,
    host,
    machine: textOf(facts['machine']) || host,
    release: textOf(facts['release']),
    node: textOf(facts['node']),
    pid: numberOf(facts['pid']),
    ready: facts['ready'] === true,
    leaving: facts['leaving'] === true,
    startedMs: numberOf(facts['startedMs']),
    aheadMs: typeof report.aheadMs === 'number' ? report.aheadMs : undefined,
    withinMs: numberOf(report.withinMs),
    status: recordOf(facts['status']),
  };
}

/** A host that has read the streams within a day, but has no service that answered. */
export interface SilentHost {
  /** Its name. Characters that are invalid in names of readers are replaced. */
  readonly host: string;
  /** Messages of the stream that it has not received yet. */
  readonly behind: number;
}

/** A reader of job files, one for each host (libs/host). */
const HOST_READER = /^host-(.+)$/;

/** Silent hosts, which are known by their readers of the streams. */
export function silentHosts({ services }: Cluster): readonly SilentHost[] {
  const answered = new Set(services.map(({ host }) => hostToken(host)));
  const found = new Map<string, SilentHost>();
  for (const { status } of services) {
    const { lags } = status;
    for (const { reader, pending } of Array.isArray(lags) ? lags.map(recordOf) : []) {
      const host = HOST_READER.exec(textOf(reader))?.[1];
      if (host === undefined || answered.has(host)) continue;
      found.set(host, { host, behind: numberOf(pending) });
    }
  }
  return [...found.values()];
}

/** Services without which minions are not served; the relay is for masters above. */
const NEEDED = [
  'event-bus',
  'job-cache-returner',
  'worker-pool',
  'runner-pool',
  'publisher',
  'req-gateway',
];

/** The problems of services; empty if there are none. */
export function troubleOf(cluster: Cluster): readonly string[] {
  const { services } = cluster;
  const missing = NEEDED.filter(
    (name) => !services.some((one) => one.service === name && one.ready),
  );
  const unready = services.filter(
    ({ service, ready, leaving }) => !ready && !leaving && service !== 'syndic-relay',
  );
  return [
    ...missing.map((name) => `no ${name} serves`),
    ...unready.map(({ name, machine }) => `${name} on ${machine} is not ready`),
  ];
}

/** A report may contain anything: show only texts without control characters. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? plainText(value) : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return value as Readonly<Record<string, unknown>>;
}

/** Converts a value of the wire to JSON types. */
export function plainOf(value: SaltValue | SaltMap): unknown {
  if (isMap(value)) {
    return Object.fromEntries([...value].map(([key, item]) => [pyStr(key), plainOf(item)]));
  }
  return Array.isArray(value) ? value.map(plainOf) : value;
}
