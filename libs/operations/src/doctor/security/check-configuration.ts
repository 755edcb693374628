import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { type Finding, some } from '../../findings/finding.ts';
import type { MasterOwner } from './check-modes.ts';

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o022;
const FILES_MAX = 1_000;

/**
 * Checks that other users can not change the configuration or read its passwords.
 * @param passwords options with secret values
 */
export async function checkConfiguration(
  { confFile, configDir }: MasterOptions,
  passwords: readonly string[],
  owner: MasterOwner | undefined,
): Promise<Finding[]> {
  const parts = join(configDir, 'master.d');
  const names = (await readdir(parts).catch((): string[] => [])).slice(0, FILES_MAX);
  const paths = [configDir, confFile, parts, ...names.map((name) => join(parts, name))];
  const writable: string[] = [];
  const readable: string[] = [];
  for (const path of paths) {
    const one = await stat(path).catch(() => undefined);
    if (one === undefined) continue; // no file: all options are defaults
    const isForeign = owner !== undefined && one.uid !== 0 && one.uid !== owner.uid;
    if (isForeign || (one.mode & OTHERS_WRITE) !== 0) writable.push(path);
    if (one.isFile() && (one.mode & OTHERS_READ) !== 0) readable.push(path);
  }
  const findings: Finding[] = [];
  if (writable.length > 0) {
    const text = `others may change ${some(writable)}, and so the master: chmod go-w`;
    findings.push({ level: 'bad', check: 'configuration-files', text });
  }
  if (readable.length > 0 && passwords.length > 0) {
    const text = `every user of this host can read ${some(readable)}, with ${some(passwords)}`;
    findings.push({ level: 'bad', check: 'configuration-secrets', text: `${text}: chmod o-r` });
  }
  if (findings.length > 0) return findings;
  const text = 'others can not change the configuration, nor read passwords in it';
  return [{ level: 'ok', check: 'configuration-files', text }];
}
