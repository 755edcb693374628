import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { type Finding, some } from '../../findings/finding.ts';

/** 96 bits as base64 or hex: passwords made by a master are not shorter. */
const LENGTH_MIN = 16;

/** Checks that each service has its own user at the NATS that the master starts. */
export async function checkServerUsers({ brine }: MasterOptions): Promise<Finding[]> {
  const url = brine.nats.url ?? '';
  if (url !== '') return externalFindings(url);
  const path = join(brine.stateDir, 'nats', 'credentials.json');
  const add = (level: Finding['level'], text: string): Finding[] => {
    return [{ level, check: 'nats-users', text }];
  };
  let users: ReadonlyMap<string, unknown>;
  try {
    const read: unknown = JSON.parse(await readFile(path, 'utf8'));
    users = new Map(Object.entries(typeof read === 'object' ? (read ?? {}) : {}));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return add('ok', 'the master was never started: NATS has no users yet');
    return add('warn', `${path} can not be read (${code ?? 'no JSON'}): run this as root`);
  }
  const missing = SERVICE_NAMES.filter((name) => typeof users.get(name) !== 'string');
  const weak = [...users].filter(([, one]) => typeof one !== 'string' || one.length < LENGTH_MIN);
  const isShared = new Set(users.values()).size < users.size;
  const how = 'stop the master, remove the file, and start it again';
  if (missing.length > 0) return add('bad', `no user in ${path} for ${some(missing)}: ${how}`);
  if (isShared) return add('bad', `services share a password of ${path}: ${how}`);
  if (weak.length > 0) {
    return add('bad', `short passwords in ${path}: ${some(weak.map(([name]) => name))}; ${how}`);
  }
  return add('ok', `${users.size} users of NATS have passwords of their own`);
}

/** With certificates each service is a user; with a password in the URL they share one. */
function externalFindings(url: string): Finding[] {
  if (/^tls:/.test(url) || !/@/.test(url)) return [];
  const text = 'all services share the user that brine.nats.url names, with the rights of each';
  return [{ level: 'warn', check: 'nats-users', text: `${text}: use certificates (brine pki)` }];
}
