import { readdir, readFile } from 'node:fs/promises';

/** One process as /proc/<pid>/stat shows it (proc(5)). */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** The kernel's name of the program, at most 15 bytes. */
  readonly name: string;
  /** User and system time of its own threads, living and ended, in clock ticks. */
  readonly ownTicks: number;
  /** The same of children that have ended and were waited for. */
  readonly reapedTicks: number;
  /** Start, in ticks since the machine's; with the pid it names a process for ever. */
  readonly startTick: number;
}

/** Where the fields stand after the name, counted from the state (field 3 of proc(5)). */
const FIELD = { parent: 1, utime: 11, stime: 12, cutime: 13, cstime: 14, starttime: 19 } as const;

/**
 * Reads one line of /proc/<pid>/stat. The name may contain blanks and parentheses, so the last
 * parenthesis ends it.
 * @throws Error for a text of another form.
 */
export function parseStat(text: string): ProcessStat {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const pid = Number(text.slice(0, open));
  const fields = text.slice(close + 2).split(' ');
  const at = (index: number): number => Number(fields[index]);
  const stat: ProcessStat = {
    pid,
    parent: at(FIELD.parent),
    name: text.slice(open + 1, close),
    ownTicks: at(FIELD.utime) + at(FIELD.stime),
    reapedTicks: at(FIELD.cutime) + at(FIELD.cstime),
    startTick: at(FIELD.starttime),
  };
  const numbers = [stat.pid, stat.parent, stat.ownTicks, stat.reapedTicks, stat.startTick];
  if (open < 0 || close < open || numbers.some((value) => !Number.isFinite(value))) {
    throw new Error(`not a line of /proc/<pid>/stat: ${text.slice(0, 80)}`);
  }
  return stat;
}

/** A process and all that descend from it, the root first; empty where the root is gone. */
export function descendants(root: number, all: readonly ProcessStat[]): ProcessStat[] {
  const children = new Map<number, ProcessStat[]>();
  for (const one of all) {
    const siblings = children.get(one.parent);
    if (siblings) siblings.push(one);
    else children.set(one.parent, [one]);
  }
  const found = all.filter(({ pid }) => pid === root);
  for (let index = 0; index < found.length; index += 1) {
    found.push(...(children.get(found[index]?.pid ?? -1) ?? []));
  }
  return found;
}

/** All processes of this machine; those that end meanwhile are left out. */
export async function readProcesses(): Promise<ProcessStat[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(names.map((name) => readOrUndefined(`/proc/${name}/stat`)));
  return texts.filter((text) => text !== undefined).map(parseStat);
}

/** Memory of a process, in KiB. */
export interface ProcessMemory {
  readonly rss: number;
  /** Its share of what it has in common with others included. */
  readonly pss: number;
  /** That share without shared memory segments, as PostgreSQL's buffers are one. */
  readonly own: number;
}

/** Memory of a process; undefined where it is gone. */
export async function readMemory(pid: number): Promise<ProcessMemory | undefined> {
  const text = await readOrUndefined(`/proc/${pid}/smaps_rollup`);
  return text === undefined ? undefined : parseRollup(text);
}

/** Reads /proc/<pid>/smaps_rollup; a process without memory of its own (a zombie) has none. */
export function parseRollup(text: string): ProcessMemory {
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0);
  const pss = field('Pss');
  return { rss: field('Rss'), pss, own: pss - field('Pss_Shmem') };
}

/** Open descriptors of a process; 0 where it is gone. */
export async function readDescriptors(pid: number): Promise<number> {
  const names = await readdir(`/proc/${pid}/fd`).catch(ifGone);
  return names?.length ?? 0;
}

/** A small file of /proc as text; undefined where its process is gone. */
export async function readOrUndefined(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ifGone);
}

function ifGone(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ESRCH') return undefined;
  throw error;
}
