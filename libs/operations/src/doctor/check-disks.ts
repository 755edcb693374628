import type { Finding } from '../findings/finding.ts';
import type { DiskSeen } from './facts/disks.ts';

const GIB = 1024 ** 3;
/** Nearly full: free share and bytes below both limits. 10 % of a large disk is enough. */
const LEVELS = [
  { level: 'bad', share: 0.03, bytes: 2 * GIB },
  { level: 'warn', share: 0.1, bytes: 20 * GIB },
] as const;
/** Free shares of the files that a file system allows. */
const FILES = [
  { level: 'bad', share: 0.02 },
  { level: 'warn', share: 0.1 },
] as const;

/** Checks that the master's disks have room. Streams on a full disk take no returns. */
export function checkDisks(disks: readonly DiskSeen[]): Finding[] {
  const findings = disks.flatMap((disk): Finding[] => {
    const { paths, freeBytes, bytes, freeFiles, files } = disk;
    const where = paths.join(', ');
    const found: Finding[] = [];
    const room = LEVELS.find((one) => freeBytes < bytes * one.share && freeBytes < one.bytes);
    if (room !== undefined) {
      const left = `${sizeText(freeBytes)} of ${sizeText(bytes)} left at ${where}`;
      const text = `${left}: make room, returns wait and jobs are refused once it is full`;
      found.push({ level: room.level, check: 'disk', text });
    }
    const names = FILES.find((one) => files > 0 && freeFiles < files * one.share);
    if (names !== undefined) {
      const text = `${freeFiles} of ${files} files left at ${where}: remove small files there`;
      found.push({ level: names.level, check: 'disk-files', text });
    }
    return found;
  });
  if (findings.length > 0 || disks.length === 0) return findings;
  const least = Math.min(...disks.map(({ freeBytes }) => freeBytes));
  return [{ level: 'ok', check: 'disk', text: `at least ${sizeText(least)} free` }];
}

/** Bytes as text: `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let at = 0;
  let rest = bytes;
  while (rest >= 1024 && at < units.length - 1) {
    rest /= 1024;
    at += 1;
  }
  return `${at === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[at] ?? 'B'}`;
}
