import { arch, cpus, endianness, machine, release, totalmem, type, version } from 'node:os';
import type { SaltMap, SaltValue } from '@brine/wire';
import { networkGrains } from './network-grains.ts';
import { osGrains } from './os-grains.ts';

/** Grains from the configuration. */
export interface GrainSettings {
  readonly id: string;
  /** Host or address of the master, as configured. */
  readonly master: string;
  /** Grains of the configuration; they take precedence. */
  readonly grains: SaltMap;
  /** The version that this minion reports, as `3008.2`. */
  readonly saltVersion: string;
}

const MIB = 1024 * 1024;
const BRINE_VERSION = '0.2.0';

/** Facts about this host under the names that Salt uses (Salt: salt/grains/core.py). */
export async function collectGrains(settings: GrainSettings): Promise<SaltMap> {
  const processors = cpus();
  const grains: SaltMap = new Map<SaltValue, SaltValue>([
    ['id', settings.id],
    ['master', settings.master],
    ['kernel', type()],
    ['kernelrelease', release()],
    ['kernelversion', version()],
    ['cpuarch', machine()],
    ['osarch', debianArch()],
    ['num_cpus', processors.length],
    ['cpu_model', processors[0]?.model ?? 'Unknown'],
    ['mem_total', Math.floor(totalmem() / MIB)],
    ['endian', endianness()],
    ['pid', process.pid],
    ['path', process.env['PATH'] ?? ''],
    ['systempath', (process.env['PATH'] ?? '').split(':')],
    ['cwd', process.cwd()],
    ['shell', process.env['SHELL'] ?? '/bin/sh'],
    ['pathsep', ':'],
    ['saltversion', settings.saltVersion],
    ['saltversioninfo', settings.saltVersion.split('.').map(Number)],
    ['brineversion', BRINE_VERSION],
    ['nodeversion', process.versions.node],
    ['locale_info', localeGrain()],
    ['virtual', 'unknown'],
    ['uid', process.getuid?.() ?? -1],
    ['gid', process.getgid?.() ?? -1],
  ]);
  for (const [key, value] of await osGrains()) grains.set(key, value);
  for (const [key, value] of networkGrains()) grains.set(key, value);
  for (const [key, value] of settings.grains) grains.set(key, value);
  return grains;
}

function debianArch(): string {
  if (arch() === 'x64') return 'amd64';
  return arch();
}

function localeGrain(): SaltMap {
  const [language = '', encoding = ''] = (process.env['LANG'] ?? '').split('.');
  return new Map([
    ['defaultlanguage', language],
    ['defaultencoding', encoding],
    ['timezone', Intl.DateTimeFormat().resolvedOptions().timeZone],
  ]);
}
