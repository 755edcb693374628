import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDump } from '@brine/service/processes';

/** Files kept; each has some kilobytes. */
const KEPT = 5;
const NAME = /^salt-debug-\d+\.log$/;

/** What stands in the file of a SIGUSR1. */
export interface DebugFacts {
  readonly version: string;
  readonly now: Date;
  /** Of the supervisor. */
  readonly own: object;
  readonly services: readonly ServiceDump[];
}

/**
 * Writes where each service is and what it has in hand into a new file of the state directory, for
 * its owner alone, and removes the oldest. Returns its path. Throws as the file system does.
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
  if (stack === undefined) return ['stack: not told'];
  // Only a loop that turns is idle: the other waits in a system call, or for the processor.
  if (stack.length === 0)
    return [facts === undefined ? 'stack: outside of JavaScript' : 'stack: idle'];
  return ['stack, innermost first:', ...stack.map((frame) => `  ${frame}`)];
}
