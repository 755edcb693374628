import { readFile } from 'node:fs/promises';
import { platform, release } from 'node:os';
import type { SaltMap, SaltValue } from '@brine/wire';

// Salt: salt/grains/core.py _OS_NAME_MAP and _OS_FAMILY_MAP, by the ID of os-release.
const KNOWN: Readonly<Record<string, readonly [os: string, family: string]>> = {
  debian: ['Debian', 'Debian'],
  ubuntu: ['Ubuntu', 'Debian'],
  raspbian: ['Raspbian', 'Debian'],
  linuxmint: ['Mint', 'Debian'],
  kali: ['Kali', 'Debian'],
  rhel: ['RedHat', 'RedHat'],
  centos: ['CentOS', 'RedHat'],
  rocky: ['Rocky', 'RedHat'],
  almalinux: ['AlmaLinux', 'RedHat'],
  fedora: ['Fedora', 'RedHat'],
  ol: ['OEL', 'RedHat'],
  amzn: ['Amazon', 'RedHat'],
  photon: ['VMware Photon OS', 'RedHat'],
  opensuse: ['SUSE', 'Suse'],
  'opensuse-leap': ['SUSE', 'Suse'],
  'opensuse-tumbleweed': ['SUSE', 'Suse'],
  sles: ['SUSE', 'Suse'],
  arch: ['Arch', 'Arch'],
  manjaro: ['Manjaro', 'Arch'],
  alpine: ['Alpine', 'Alpine'],
  gentoo: ['Gentoo', 'Gentoo'],
  void: ['Void', 'Void'],
};
const MAX_NAME = 200;

/** Grains about the operating system: `os`, `os_family`, `osrelease`, … */
export async function osGrains(): Promise<SaltMap> {
  if (platform() === 'darwin') return darwinGrains();
  const text = await readFirst(['/etc/os-release', '/usr/lib/os-release']);
  return linuxGrains(parseOsRelease(text));
}

/** Reads `KEY="value"` lines. */
export function parseOsRelease(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^([A-Z0-9_]+)=(?:"([^"]*)"|'([^']*)'|(.*))$/.exec(line.trim());
    const value = match?.[2] ?? match?.[3] ?? match?.[4];
    if (match?.[1] !== undefined && value !== undefined)
      fields.set(match[1], value.slice(0, MAX_NAME));
  }
  return fields;
}

/** The grains that follow from an os-release file. */
export function linuxGrains(fields: ReadonlyMap<string, string>): SaltMap {
  const id = fields.get('ID') ?? '';
  const name = fields.get('NAME') ?? 'Linux';
  const [os, family] = Object.hasOwn(KNOWN, id) ? (KNOWN[id] ?? [name, name]) : [name, name];
  const version = fields.get('VERSION_ID') ?? '';
  const parts = version.split('.').filter((part) => part !== '');
  const info: SaltValue[] = parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  // Both numbers together name a release of Ubuntu (Salt: salt/grains/core.py).
  const major = os === 'Ubuntu' ? version : (parts[0] ?? '');
  return new Map<SaltValue, SaltValue>([
    ['os', os],
    ['os_family', family],
    ['osfullname', name.replace(/ GNU\/Linux$/, '')],
    ['osrelease', version],
    ['osrelease_info', info],
    ['osmajorrelease', typeof info[0] === 'number' ? info[0] : (parts[0] ?? '')],
    ['oscodename', fields.get('VERSION_CODENAME') ?? ''],
    ['osfinger', `${name.replace(/ GNU\/Linux$/, '')}-${major}`],
    ['lsb_distrib_id', name],
    ['lsb_distrib_release', version],
    ['lsb_distrib_codename', fields.get('VERSION_CODENAME') ?? ''],
    ['init', 'unknown'],
  ]);
}

function darwinGrains(): SaltMap {
  return new Map<SaltValue, SaltValue>([
    ['os', 'MacOS'],
    ['os_family', 'MacOS'],
    ['osfullname', 'macOS'],
    ['osrelease', release()],
  ]);
}

async function readFirst(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) return text;
  }
  return '';
}
