import { constants } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { cpus, freemem, hostname, loadavg, release, totalmem, type, uptime } from 'node:os';
import { join } from 'node:path';
import type { JobRecords } from '@brine/client';
import type { LoadedConfig, MasterOptions } from '@brine/config';
import { effectiveOptions, optionLines } from '@brine/config/reference';
import { asOwnerOf } from '@brine/files';
import { supervisorState } from '@brine/master-host';
import { isSyslog, ownRelease, releaseOnDisk } from '@brine/service';
import { drawCluster } from '../cluster-status/draw-cluster.ts';
import { drawStatus, readStatus } from '../cluster-status/host-status.ts';
import { sizeText } from '../doctor/check-disks.ts';
import { examine } from '../doctor/examine.ts';
import { type Facts, isSeen } from '../doctor/facts/facts.ts';
import { findingLines } from '../findings/finding-lines.ts';
import { pictures } from '../top/pictures.ts';
import { TopSource } from '../top/source.ts';

/** A file of a bundle. */
export interface BundlePart {
  readonly name: string;
  /** True if only lines with a secret are removed; otherwise the whole part is. */
  readonly isLines: boolean;
  readonly make: () => Promise<string>;
}

/** Maximum bytes of a log, and of each other file. */
const LOG_BYTES = 2 * 1024 * 1024;
const FILE_BYTES = 512 * 1024;

/** Inputs for making parts. */
export interface BundleSources {
  readonly loaded: LoadedConfig<MasterOptions>;
  readonly configDir: string | undefined;
  readonly jobs: JobRecords;
  readonly facts: Facts;
}

/** All files of a bundle, in order. */
export async function partsOf(sources: BundleSources): Promise<BundlePart[]> {
  const { loaded, configDir, jobs, facts } = sources;
  const { options } = loaded;
  const lines = (name: string, make: () => string | Promise<string>): BundlePart => {
    return { name, isLines: true, make: async () => make() };
  };
  const json = (name: string, value: () => unknown): BundlePart => {
    return { name, isLines: false, make: async () => `${JSON.stringify(value(), null, 2)}\n` };
  };
  const { cluster } = facts;
  return [
    lines('versions.txt', () => versionLines(facts)),
    lines('status.txt', async () => drawStatus(await readStatus(options))),
    lines('cluster.txt', () => (isSeen(cluster) ? drawCluster(cluster) : unseenText(cluster))),
    json('cluster.json', () => cluster),
    lines('doctor.txt', async () =>
      findingLines(await examine(loaded, () => jobs.logInVersions(), facts)),
    ),
    lines('configuration.txt', () => optionLines(effectiveOptions({ configDir }))),
    json('streams.json', () => facts.streams),
    json('postgres.json', () => facts.database),
    // Jobs have no arguments there.
    lines('top.txt', async () => (await pictures(new TopSource(options, jobs), options.id)).text),
    lines('system.txt', () => systemLines(facts)),
    lines('processes.txt', () => processLines(options)),
    ...(await logParts(options, lines)),
  ];
}

function unseenText({ unseen }: { readonly unseen: string }): string {
  return `not known: ${unseen}\n`;
}

function versionLines({ cluster }: Facts): string {
  const shown = isSeen(cluster) ? cluster.services : [];
  const rows = shown.map(({ host, name, release: own, node }) => `${host} ${name} ${own} ${node}`);
  return [
    `brine ${ownRelease()}, installed ${releaseOnDisk()}`,
    `node ${process.versions.node}, openssl ${process.versions.openssl}`,
    `${type()} ${release()} ${process.arch}`,
    ...rows,
    '',
  ].join('\n');
}

function systemLines({ disks, ports, backends }: Facts): string {
  const load = loadavg().map((one) => one.toFixed(2));
  return [
    `${hostname()}, up ${Math.round(uptime() / 3600)} h, load ${load.join(' ')}`,
    `${cpus().length} CPUs, ${sizeText(freemem())} of ${sizeText(totalmem())} memory free`,
    ...disks.map((disk) => {
      const files = disk.files === 0 ? '' : `, ${disk.freeFiles} of ${disk.files} files`;
      const room = `${sizeText(disk.freeBytes)} of ${sizeText(disk.bytes)} free${files}`;
      return `disk ${disk.paths.join(', ')}: ${room}`;
    }),
    ...ports.map(({ port, service, isListenedOn, by, answers }) => {
      const shown = answers === undefined ? '' : `, ${answers ? 'answers' : 'does not answer'}`;
      const use = isListenedOn ? `taken by ${by ?? '?'}` : 'free';
      return `port ${port} (${service}): ${use}${shown}`;
    }),
    ...backends.map(
      ({ option, host, port, why }) => `${option}: ${host}:${port} ${why ?? 'is there'}`,
    ),
    '',
  ].join('\n');
}

/** The system's figures for each service. */
async function processLines(options: MasterOptions): Promise<string> {
  const state = supervisorState(options);
  const parts = (state?.services ?? []).map(async ({ name, pid, ...rest }) => {
    const head = `== ${name}, pid ${pid ?? '-'}, ${JSON.stringify(rest)}\n`;
    if (pid === undefined) return head;
    const [status, limits] = await Promise.all(
      ['status', 'limits'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(String)),
    );
    return `${head}${status ?? ''}${limits ?? ''}`;
  });
  return parts.length === 0 ? 'no master runs here\n' : (await Promise.all(parts)).join('\n');
}

/** The last lines of the logs, and the newest files of SIGUSR1. */
async function logParts(
  options: MasterOptions,
  lines: (name: string, make: () => string | Promise<string>) => BundlePart,
): Promise<BundlePart[]> {
  const { logFile, brine } = options;
  const log = isSyslog(logFile)
    ? lines('logs/master.log', () => `the log goes to ${logFile}: add its part by hand\n`)
    : lines('logs/master.log', () => endOf(logFile, LOG_BYTES));
  const debug = join(brine.stateDir, 'debug');
  const names = await readdir(debug).catch((): string[] => []);
  const postgres = join(brine.stateDir, 'postgres', 'log');
  const own = await readdir(postgres).catch((): string[] => []);
  return [
    log,
    ...names
      .sort()
      .map((name) => lines(`debug/${name}`, () => endOf(join(debug, name), FILE_BYTES))),
    ...own
      .sort()
      .slice(-1)
      .map((name) => lines(`logs/postgres/${name}`, () => endOf(join(postgres, name), FILE_BYTES))),
  ];
}

/** The last `bytes` of a file, without a partial first line. */
export function endOf(path: string, bytes: number): Promise<string> {
  // Read as the directory's owner, so that a link can not disclose other files.
  return asOwnerOf(path, () => readEnd(path, bytes));
}

async function readEnd(path: string, bytes: number): Promise<string> {
  // O_NONBLOCK, because opening a pipe would block forever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error(`${path} is no plain file`);
    const { size } = found;
    const from = Math.max(0, size - bytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, bytes)), {
      position: from,
    });
    const text = buffer.toString('utf8', 0, bytesRead);
    if (from === 0) return text;
    const lines = text.slice(text.indexOf('\n') + 1);
    return `… ${from} bytes of ${path} before this are left out\n${lines}`;
  } finally {
    await file.close();
  }
}
