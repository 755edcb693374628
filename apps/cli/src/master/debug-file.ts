import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDump } from '@brine/service/processes';

/** Number of files to keep, a few kilobytes each. */
const KEPT = 5;
const NAME = /^salt-debug-\d+\.log$/;

/** Content of the file of a SIGUSR1. */
export interface DebugFacts {
  readonly version: string;
  readonly now: Date;
  /** Facts of the supervisor. */
  readonly own: object;
  readonly services: readonly ServiceDump[];
}

/**
 * Writes stack and pending work of each service to a new file in the state directory, readable only
 * for its owner, and removes the oldest. Returns its path. Throws errors of the file system.
 */
export function writeDebugFile(stateDir: string, facts: DebugFacts): string {
  const dir = join(stateDir, 'debug');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, `salt-debug-${facts.now.getTime()}.log`);
  writeFileSync(path, debugText(facts), { mode: 0o600 });
  const old = readdirSync(dir).filter((name) => NAME.test(name));
  for (const name of old.sort().slice(0, -KEPT)) rmSync(join(dir, name), { force: true });
  return path;
}

/** The text of such a file. */
export function debugText({ version, now, own, services }: DebugFacts): string {
  const head = `Brine ${version}, ${now.toISOString()}\n\n`;
  const master = `== master, pid ${process.pid}\n${JSON.stringify(own, undefined, 2)}\n`;
  return head + [master, ...services.map(textOf)].join('\n');
}

function textOf({ dump, leaving, ...state }: ServiceDump): string {
  const { name, pid, restarts, startedAt } = state;
  const lines = [
    `== ${name}, ${state.state}, pid ${pid ?? '-'}, since ${startedAt ?? '-'}` +
      `, restarts ${restarts}`,
    ...(leaving === undefined ? [] : [`leaving: ${leaving.join(', ')}`]),
    ...stackLines(dump),
    dump?.facts === undefined
      ? 'no facts: it did not answer, so its event loop is blocked'
      : JSON.stringify(dump.facts, undefined, 2),
  ];
  return `${lines.join('\n')}\n`;
}

function stackLines({ stack, facts }: NonNullable<ServiceDump['dump']> = {}): string[] {
  if (stack === undefined) return ['stack: unknown'];
  // A service that returned facts is idle; otherwise it is in a system call, or waits for the CPU.
  if (stack.length === 0)
    return [facts === undefined ? 'stack: outside of JavaScript' : 'stack: idle'];
  return ['stack, innermost first:', ...stack.map((frame) => `  ${frame}`)];
}
