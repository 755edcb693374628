import { readFile } from 'node:fs/promises';
import type { MasterOptions } from '@brine/config';
import { supervisorState } from '@brine/master-host';
import { KeyStore } from '@brine/pki';
import type { Finding } from '../findings/finding.ts';

/** Sockets that a service needs in addition to those of minions. */
const SPARE_FILES = 512;
const SERVICES = ['req-gateway', 'publisher'];

/** Checks that gateway and publisher may open one connection for each accepted minion. */
export async function checkLimits(options: MasterOptions): Promise<Finding[]> {
  const listing = await new KeyStore(options.pkiDir).list().catch(() => undefined);
  const minions = listing?.accepted.length ?? 0;
  const running = supervisorState(options)?.services ?? [];
  const findings: Finding[] = [];
  let lowest = Infinity;
  for (const { name, pid } of running) {
    if (!SERVICES.includes(name) || pid === undefined) continue;
    const limit = await openFilesOf(pid);
    if (limit === undefined) continue;
    lowest = Math.min(lowest, limit);
    if (limit >= minions + SPARE_FILES) continue;
    const text = `${name} may open ${limit} files, ${minions} minions need more: raise LimitNOFILE`;
    findings.push({ level: 'bad', check: 'open-files', text });
  }
  if (findings.length > 0) return findings;
  return [{ level: 'ok', check: 'open-files', text: roomFor(lowest) }];
}

function roomFor(lowest: number): string {
  if (lowest < Infinity) return `room for ${lowest - SPARE_FILES} minions`;
  return 'no limit is known: the master does not run, or has none';
}

async function openFilesOf(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => '');
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  if (limit === undefined) return undefined;
  return limit === 'unlimited' ? Infinity : Number(limit);
}
