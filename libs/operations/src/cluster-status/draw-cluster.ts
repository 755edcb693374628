import { plainText } from '@brine/wire/text';
import { type Cluster, type ClusterService, troubleOf } from '../roll/roll.ts';
import { columns, figures, uptime } from './figures.ts';
import { type QueueLine, queuesOf } from './queues.ts';

/** All hosts and their services as text, problems first. */
export function drawCluster(cluster: Cluster, more: readonly string[] = []): string {
  const { services, leftOut } = cluster;
  const hosts = [...new Set(services.map(({ host }) => host))];
  const trouble = [...troubleOf(cluster), ...more];
  const counts = `${hosts.length} ${plural(hosts.length, 'host')}, ${services.length} services`;
  const cut = leftOut === 0 ? '' : `${leftOut} more services answered and are not shown\n`;
  return [
    `${trouble.length === 0 ? 'serving' : 'NOT AS IT SHOULD BE'}   ${counts}\n`,
    ...trouble.map((text) => `  ${text}\n`),
    ...hosts.map(
      (host) =>
        `\n${drawHost(
          services.filter((one) => one.host === host),
          host,
        )}`,
    ),
    queueLines(queuesOf(cluster)),
    cut,
  ].join('');
}

function drawHost(services: readonly ClusterService[], host: string): string {
  const machines = new Set(services.map(({ machine }) => machine));
  const releases = [...new Set(services.map(({ release }) => release))].join(', ');
  // In containers each service has its own machine, and the same name as its replicas.
  const isSplit = machines.size > 1;
  const rows = services.map((one) => [
    one.name,
    ...(isSplit ? [one.machine] : []),
    stateOf(one),
    String(one.pid),
    uptime(one.startedMs),
    plainText(figures(one.status)),
  ]);
  const heads = ['service', ...(isSplit ? ['machine'] : []), 'state', 'pid', 'up', 'figures'];
  const machine = isSplit ? '' : `   on ${[...machines].join('')}`;
  return `${host}${machine}   release ${releases}\n${columns([heads, ...rows])}`;
}

/** The state of a service: `ready`, `leaving` or `not ready`. */
export function stateOf({ ready, leaving }: ClusterService): string {
  if (leaving) return 'leaving';
  return ready ? 'ready' : 'not ready';
}

/** Lines for streams and readers that are not empty. */
function queueLines(queues: readonly QueueLine[]): string {
  const full = queues.filter(({ kind, share }) => kind === 'stream' && share >= 0.01);
  const behind = queues.filter(({ kind, waiting }) => kind === 'reader' && waiting > 0);
  const parts = [
    ...full.map(({ name, share }) => `${name} ${Math.round(share * 100)} % full`),
    ...behind.map(({ name, waiting }) => `${name} ${waiting} behind`),
  ];
  return parts.length === 0 ? '' : `\nstreams: ${parts.join(', ')}\n`;
}

function plural(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}
