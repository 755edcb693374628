import type { MasterOptions } from '@brine/config';
import { KeyStore } from '@brine/pki';
import { endedOn, type ProbedService, probeService } from '@brine/service';
import { livingSupervisor, readState } from '@brine/service/processes';
import { EXIT } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { text, textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

/** Figures of a service on its line; `--out json` has all. */
const FIGURES_MAX = 8;

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
  /** Keys by state; undefined where the directory cannot be read. */
  readonly minions: Readonly<Record<string, number>> | undefined;
}

/** `brine status`: shows how the master of this host is. Gives 1 while it does not serve. */
export async function runStatus(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(
    brineForm(
      'status',
      'Shows the services of the master on this host. Exit code 0 while all serve, else 1.',
      [text(['--out', '--output'], 'output', 'json, or a table.')],
    ),
  );
  const options = parser.parse(args);
  const status = await readStatus(readMasterConfig(options, terminal));
  const asJson = textValue(options, 'output') === 'json';
  terminal.out(asJson ? `${JSON.stringify(status, null, 4)}\n` : drawStatus(status));
  return status.serving ? EXIT.ok : EXIT.generic;
}

/** Reads the supervisor's file and asks every service. */
export async function readStatus(options: MasterOptions): Promise<MasterStatus> {
  const state = readState(options.brine.stateDir);
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
    const shelves = await new KeyStore(pkiDir).list();
    return Object.fromEntries(Object.entries(shelves).map(([state, ids]) => [state, ids.length]));
  } catch {
    // No keys yet, or not readable: the status of the services is still worth showing.
    return undefined;
  }
}

/** The status as a person reads it. */
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
  return `${head}\n\n${table}\n${nodeLine(services)}${cryptoLine(services)}${keysLine(minions)}`;
}

/** The Node that runs the services, and whether it still gets security fixes. */
function nodeLine(services: MasterStatus['services']): string {
  const shown = wordsOf(services, 'node').map((version) => {
    const ended = endedOn(version, Date.now());
    return ended === undefined ? version : `${version} (no security fixes since ${ended})`;
  });
  return shown.length === 0 ? '' : `node: ${shown.join(', ')}\n`;
}

/** What the workers seal with. */
function cryptoLine(services: MasterStatus['services']): string {
  const words = wordsOf(services, 'crypto');
  return words.length === 0 ? '' : `crypto: ${words.join(', ')}\n`;
}

/** What services say under a name, each word once; several only while they are replaced. */
function wordsOf(services: MasterStatus['services'], name: string): string[] {
  const told = services.map(({ status }) => status?.[name]);
  return [...new Set(told.filter((word) => typeof word === 'string'))];
}

function keysLine(minions: MasterStatus['minions']): string {
  if (!minions) return 'minions: no keys found\n';
  const counts = Object.entries(minions).map(([state, count]) => `${count} ${state}`);
  return `minions: ${counts.join(', ')}\n`;
}

/** The numbers of a status that are not 0, nested ones by their path: `queue.aes=3`. */
function figures(status: Readonly<Record<string, unknown>> | undefined): string {
  const { pid: _, ...told } = status ?? {};
  const found = numbersOf(told, '');
  const more = found.length > FIGURES_MAX ? ' …' : '';
  return found.slice(0, FIGURES_MAX).join(' ') + more;
}

function numbersOf(status: object, prefix: string): string[] {
  return Object.entries(status).flatMap(([key, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null) return numbersOf(value, `${prefix}${key}.`);
    return typeof value === 'number' && value !== 0 ? [`${prefix}${key}=${value}`] : [];
  });
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return `${rows.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

function uptime(startedAt: string | undefined): string {
  if (startedAt === undefined) return '-';
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(startedAt)) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  if (seconds < 86_400)
    return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m`;
  return `${Math.floor(seconds / 86_400)}d${Math.floor((seconds % 86_400) / 3600)}h`;
}
