import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { lastEvents } from './last-events.ts';
import { lastLines } from './last-lines.ts';
import { redactedText, redactedValue } from './redacted.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const LOG_LINES = 40;
/** Lines of all logs together: with many minions each gets fewer. */
const ALL_LOG_LINES = 400;
const EVENTS = 30;
const JOBS = 3;
const JOB_LINES = 40;
const CONFIG_CHARS = 3_000;
const REPORT_CHARS = 100_000;
const GIT_MS = 20_000;

/** Each process has them, and they only name the place of the scene. */
const PLACES = new Set([
  ...['root_dir', 'pki_dir', 'cachedir', 'sock_dir', 'pidfile', 'extension_modules'],
  ...['user', 'log_level_logfile', 'log_file', 'ipv6'],
]);

/** The input of a report on a scene. */
export interface SceneParts {
  readonly dir: string;
  /** Salt releases that ran there. */
  readonly releases: readonly string[];
  /** Directories of configuration, each with a file `master` or `minion`. */
  readonly configDirs: readonly string[];
  /** The Brine master of the scene. */
  readonly master: AskedMaster | undefined;
  /** How long each part may take, in ms. */
  readonly withinMs: number;
}

/** A Brine master that answers commands while it runs. */
export interface AskedMaster {
  /** Its `<cachedir>/brine`. */
  readonly stateDir: string;
  ask(command: string, args: readonly string[], timeoutMs: number): Promise<string>;
}

/** Describes a scene: versions, configuration, logs, and the events and jobs of its master. */
export async function sceneReport(parts: SceneParts): Promise<string> {
  const { dir, master, withinMs } = parts;
  const sections = await Promise.all([
    section('versions', () => versions(parts.releases)),
    ...parts.configDirs.map((path) => section(path, () => configuration(path))),
    ...(master === undefined ? [] : ofMaster(master, withinMs)),
    section('logs', () => logs(dir, master)),
  ]);
  // The directory's name would be in every second line.
  const text = sections.join('\n').replaceAll(dir, '{dir}');
  return text.length > REPORT_CHARS ? `${text.slice(0, REPORT_CHARS)}\n… (cut)` : text;
}

function ofMaster(master: AskedMaster, withinMs: number): Promise<string>[] {
  return [
    section('services', () => services(master.stateDir)),
    section('last events', async () =>
      (await lastEvents(master.stateDir, EVENTS, withinMs)).join('\n'),
    ),
    section('last jobs', () => inTime(lastJobs(master, withinMs), withinMs)),
  ];
}

/** Rejects when the time is up: a late answer of the master must not cost the other parts. */
async function inTime(text: Promise<string>, withinMs: number): Promise<string> {
  const over = new AbortController();
  const late = sleep(withinMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`not within ${withinMs} ms`);
  });
  try {
    return await Promise.race([text, late]);
  } finally {
    late.catch(() => undefined);
    over.abort();
  }
}

/** A failing part shows its error; the other parts stay. */
async function section(title: string, make: () => Promise<string>): Promise<string> {
  try {
    return `${title}:\n${indented(await make())}`;
  } catch (error) {
    return `${title}: not to be had: ${redactedText(firstLine(String(error)))}`;
  }
}

async function versions(releases: readonly string[]): Promise<string> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const args = ['-C', ROOT, 'describe', '--always', '--dirty', '--abbrev=12'];
  const commit = await promisify(execFile)('git', args, { timeout: GIT_MS }).then(
    ({ stdout }) => stdout.trim(),
    () => 'no commit known',
  );
  const salt = releases.length === 0 ? 'none' : [...releases].sort().join(', ');
  return `Brine ${version} (${commit}), Node ${process.versions.node}, Salt ${salt}`;
}

async function configuration(configDir: string): Promise<string> {
  const names = (await readdir(configDir)).filter((name) => /^(?:master|minion)$/.test(name));
  const texts = names.map(async (name) => {
    const lines = (await readFile(join(configDir, name), 'utf8')).split('\n');
    return `${name}: ${lines.flatMap(shownOption).join(', ')}`.slice(0, CONFIG_CHARS);
  });
  return (await Promise.all(texts)).join('\n');
}

/** The files have an option a line, its value as JSON; options of a test may be any YAML. */
function shownOption(line: string): string[] {
  if (line.trim() === '') return [];
  const [, key, json] = /^([^\s:]+): (.*)$/.exec(line) ?? [];
  if (key === undefined || json === undefined) return [redactedText(line.trimEnd())];
  if (PLACES.has(key)) return [];
  try {
    return [`${key}: ${JSON.stringify(redactedValue(JSON.parse(json), key))}`];
  } catch {
    return [`${key}: ${String(redactedValue(json, key))}`];
  }
}

async function services(stateDir: string): Promise<string> {
  const text = await readFile(join(stateDir, 'services.json'), 'utf8');
  const { services: all } = JSON.parse(text) as {
    readonly services: readonly { name: string; state: string; pid?: number; restarts?: number }[];
  };
  return all
    .map(({ name, state, pid, restarts }) => {
      return `${name} ${state}, pid ${pid ?? 'none'}, ${restarts ?? 0} restarts`;
    })
    .join('\n');
}

async function lastJobs(master: AskedMaster, withinMs: number): Promise<string> {
  const list = ['jobs.list_jobs_filter', String(JOBS), '--out', 'json'];
  const jobs = JSON.parse(await master.ask('run', list, withinMs)) as readonly {
    readonly JID: string;
    readonly Function: string;
  }[];
  const listed = jobs.map(async ({ JID, Function: fun }) => {
    const parts = await Promise.all([
      section('jobs.why', () => master.ask('run', ['jobs.why', JID], withinMs)),
      section('trace', () => master.ask('trace', [JID], withinMs)),
    ]);
    const lines = parts.flatMap((part) => part.trimEnd().split('\n').slice(0, JOB_LINES));
    return `${JID} ${fun}\n${indented(redactedText(lines.join('\n')))}`;
  });
  return jobs.length === 0 ? 'none' : (await Promise.all(listed)).join('\n');
}

async function logs(dir: string, master: AskedMaster | undefined): Promise<string> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.log')).sort();
  const paths = names.map((name) => join(dir, name));
  if (master !== undefined) paths.push(join(master.stateDir, 'nats', 'nats.log'));
  const count = Math.min(LOG_LINES, Math.ceil(ALL_LOG_LINES / Math.max(1, paths.length)));
  const ends = paths.map((path) =>
    section(path, async () => (await lastLines(path, count)).join('\n')),
  );
  return (await Promise.all(ends)).join('\n');
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '  ');
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
