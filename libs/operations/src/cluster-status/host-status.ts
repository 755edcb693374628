import type { MasterOptions } from '@brine/config';
import { asOwnerOf } from '@brine/files';
import { supervisorState } from '@brine/master-host';
import { KeyStore } from '@brine/pki';
import { endedOn, type ProbedService, probeService } from '@brine/service';
import { livingSupervisor } from '@brine/service/processes';
import { columns, figures, uptime } from './figures.ts';
import { maintenanceLine } from './maintenance-line.ts';

/** The state of a master on this host. */
export interface MasterStatus {
  readonly id: string;
  /** True while every service serves; the syndic-relay does not count. */
  readonly serving: boolean;
  readonly pid: number | undefined;
  readonly startedAt: string | undefined;
  readonly publishPort: number;
  readonly retPort: number;
  readonly services: readonly ProbedService[];
  /** Keys by state; undefined if the directory can not be read. */
  readonly minions: Readonly<Record<string, number>> | undefined;
}

/** Reads the supervisor's file and asks every service. */
export async function readStatus(options: MasterOptions): Promise<MasterStatus> {
  const state = supervisorState(options);
  const alive = livingSupervisor(state) !== undefined;
  const host = options.brine.healthHost;
  const services = alive
    ? await Promise.all((state?.services ?? []).map((service) => probeService(service, host)))
    : [];
  const needed = services.filter(({ name }) => name !== 'syndic-relay');
  return {
    id: options.id,
    serving: needed.length > 0 && needed.every(({ ready }) => ready),
    pid: alive ? state?.pid : undefined,
    startedAt: alive ? state?.startedAt : undefined,
    publishPort: options.publishPort,
    retPort: options.retPort,
    services,
    minions: await countKeys(options.pkiDir),
  };
}

async function countKeys(pkiDir: string): Promise<Record<string, number> | undefined> {
  try {
    const shelves = await asOwnerOf(pkiDir, () => new KeyStore(pkiDir).list());
    return Object.fromEntries(Object.entries(shelves).map(([state, ids]) => [state, ids.length]));
  } catch {
    // No keys yet, or not readable: the status of the services is still worth showing.
    return undefined;
  }
}

/** The status as text. */
export function drawStatus(status: MasterStatus): string {
  const { id, serving, pid, startedAt, publishPort, retPort, services, minions } = status;
  if (pid === undefined) return `${id}: the master does not run\n${keysLine(minions)}`;
  const head =
    `${id}: ${serving ? 'serving' : 'NOT SERVING'}   pid ${pid}   up ${uptime(startedAt)}   ` +
    `ports ${publishPort}, ${retPort}`;
  const rows = services.map((service) => [
    service.name,
    service.state === 'ready' && !service.ready ? 'not ready' : service.state,
    String(service.pid ?? '-'),
    uptime(service.startedAt),
    String(service.restarts),
    figures(service.status),
  ]);
  const table = columns([['service', 'state', 'pid', 'up', 'restarts', 'figures'], ...rows]);
  const lines = [nodeLine(services), cryptoLine(services), keysLine(minions)];
  const more = `${presenceLine(services)}${enginesLine(services)}${maintenanceLine(services)}`;
  return `${head}\n\n${table}\n${lines.join('')}${more}`;
}

/** The Node that runs the services, and whether it still gets security fixes. */
function nodeLine(services: MasterStatus['services']): string {
  const shown = wordsOf(services, 'node').map((version) => {
    const ended = endedOn(version, Date.now());
    return ended === undefined ? version : `${version} (no security fixes since ${ended})`;
  });
  return shown.length === 0 ? '' : `node: ${shown.join(', ')}\n`;
}

/** The implementation that workers use to encrypt. */
function cryptoLine(services: MasterStatus['services']): string {
  const words = wordsOf(services, 'crypto');
  return words.length === 0 ? '' : `crypto: ${words.join(', ')}\n`;
}

/** The distinct texts that services report under a name; several only during a replacement. */
function wordsOf(services: MasterStatus['services'], name: string): string[] {
  const report = services.map(({ status }) => status?.[name]);
  return [...new Set(report.filter((word) => typeof word === 'string'))];
}

/** Connected minions, from the worker that tracks presence, if it is on this host. */
function presenceLine(services: MasterStatus['services']): string {
  for (const { status } of services) {
    const presence = status?.['presence'];
    if (typeof presence !== 'object' || presence === null || !('present' in presence)) continue;
    const report = presence as Readonly<Record<string, unknown>>;
    const parts = [`${String(report['present'])} connected`];
    if (report['loose'] !== 0)
      parts.push(`${String(report['loose'])} without a connection for now`);
    if (report['unclear'] !== 0) parts.push(`${String(report['unclear'])} unclear`);
    if (report['sure'] !== true) parts.push('some publishers do not report');
    return `presence: ${parts.join(', ')}\n`;
  }
  return '';
}

/** The state of an engine in a worker's report. */
interface EngineReport {
  readonly name: string;
  readonly state: string;
  readonly why?: string;
}

/** The engines of this master, and why one does not run; another host may have one. */
function enginesLine(services: MasterStatus['services']): string {
  const report = services.flatMap(({ status }) => {
    const engines: unknown = status?.['engines'];
    return Array.isArray(engines) ? engines.filter(isEngineReport) : [];
  });
  const shown = [...new Set(report.map(({ name }) => name))].map((name) => {
    const here = report.find((one) => one.name === name && one.state !== 'elsewhere');
    const why = here?.why === undefined || here.state === 'running' ? '' : ` (${here.why})`;
    return `${name} ${here?.state ?? 'elsewhere'}${why}`;
  });
  return shown.length === 0 ? '' : `engines: ${shown.join(', ')}\n`;
}

function isEngineReport(value: unknown): value is EngineReport {
  if (typeof value !== 'object' || value === null) return false;
  return 'name' in value && typeof value.name === 'string' && 'state' in value;
}

function keysLine(minions: MasterStatus['minions']): string {
  if (!minions) return 'minions: no keys found\n';
  const counts = Object.entries(minions).map(([state, count]) => `${count} ${state}`);
  return `minions: ${counts.join(', ')}\n`;
}
