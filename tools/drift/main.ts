// Repeats the recordings of test/fixtures with the newest point release of each line of Salt, and
// prints changed answers: `npm run drift`. Releases come from the package index; one missing in the
// table of libs/testing is a failure.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { drawOptions, flag, readOptions, runTool, texts, UsageError } from '@brine/swarm/options';
import { anySaltVenv, NEWEST_SALTS, newestOf, saltVenv } from '@brine/testing';
import { ROOT } from '../tests/repository.ts';
import { changesBetween } from './differences.ts';
import { newestPublished, newsOf } from './package-index.ts';
import {
  filledIn,
  type Installed,
  isRecording,
  lineOf,
  linesAsked,
  readTable,
  type Recording,
  TABLE,
} from './recordings.ts';

const OPTIONS = {
  only: texts('NAME', 'only recordings whose path has NAME in it; several times'),
  write: flag('puts the new recordings in the place of the old ones'),
  known: flag('the newest releases of the table in libs/testing, without the package index'),
};
const USAGE = `npm run drift [-- options]\n\n${drawOptions(OPTIONS)}`;
/** Maximum of printed changes of one recording. */
const PRINTED_MAX = 40;
/** Longest time of one recorder, ms. */
const RECORDER_MS = 3_600_000;

const run = promisify(execFile);

async function main(args: readonly string[]): Promise<number> {
  const { only, write, known } = readOptions(args, OPTIONS);
  const releases = known ? byLine(NEWEST_SALTS) : await published();
  const news = newsOf(releases, NEWEST_SALTS);
  for (const { release, known: before } of news) {
    const last = before === undefined ? 'no release of its line' : `${before} as the newest`;
    console.log(`Salt ${release} is out; SALT_RELEASES in libs/testing has ${last}`);
  }
  const chosen = Object.entries(readTable()).flatMap(([path, entry]) =>
    isRecording(entry) && (only.length === 0 || only.some((name) => path.includes(name)))
      ? [[path, entry] as const]
      : [],
  );
  if (chosen.length === 0)
    throw new UsageError(`no recording's path has ${only.join(' or ')} in it`);
  const outcomes: Outcome[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'brine-drift-'));
  try {
    for (const [path, recording] of chosen)
      outcomes.push(await judge({ path, recording, releases, write, dir }));
  } finally {
    rmSync(dir, { recursive: true });
  }
  const count = (outcome: Outcome): number => outcomes.filter((one) => one === outcome).length;
  console.log(
    `\n${count('same')} recordings as Salt answers now, ${count('changed')} changed, ` +
      `${count('failed')} failed, ${count('not asked')} not asked`,
  );
  return count('changed') + count('failed') + news.length === 0 ? 0 : 1;
}

type Outcome = 'same' | 'changed' | 'failed' | 'not asked';

interface Judged {
  readonly path: string;
  readonly recording: Recording;
  readonly releases: ReadonlyMap<string, string>;
  readonly write: boolean;
  readonly dir: string;
}

/** Records a file again at another path, and prints the changes. */
async function judge({ path, recording, releases, write, dir }: Judged): Promise<Outcome> {
  const { again, salt } = recording;
  if (again?.includes('{out}') !== true) {
    console.log(`${path}: of ${salt.join(', ')}; not asked: ${recording.once ?? again ?? ''}`);
    return 'not asked';
  }
  const installed = await install(linesAsked(again), releases);
  const now = [...installed.values()].map(({ release }) => release);
  const out = join(dir, path.replaceAll('/', '-'));
  const env = { ...process.env, TZ: 'UTC', PYTHONDONTWRITEBYTECODE: '1' };
  const ended = spawnSync('sh', ['-c', filledIn(again, installed, out)], {
    cwd: ROOT,
    env,
    timeout: RECORDER_MS,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (ended.status !== 0) {
    console.log(`${path}: its recorder ended with ${ended.signal ?? ended.status ?? 'no code'}`);
    return 'failed';
  }
  const changes = changesBetween(read(join(ROOT, path)), read(out));
  const ofWhat = now.length === 0 ? 'Python' : `Salt ${now.join(', ')}`;
  console.log(`${path}: of ${salt.join(', ')}, ${changes.length} changes by ${ofWhat}`);
  for (const { path: place, before, after } of changes.slice(0, PRINTED_MAX))
    console.log(`  ${place}\n    - ${before ?? ''}\n    + ${after ?? ''}`);
  if (changes.length > PRINTED_MAX) console.log(`  … ${changes.length - PRINTED_MAX} more`);
  if (write) keep(path, out, now);
  return changes.length === 0 ? 'same' : 'changed';
}

/** Replaces a recording, and its releases in the table. */
function keep(path: string, out: string, now: readonly string[]): void {
  writeFileSync(join(ROOT, path), readFileSync(out));
  const table = readTable();
  const entry = table[path];
  if (entry === undefined || !isRecording(entry) || now.length === 0) return;
  const others = entry.salt.filter((one) => !now.some((two) => lineOf(two) === lineOf(one)));
  const salt = [...others, ...now].sort();
  const text = JSON.stringify({ ...table, [path]: { ...entry, salt } }, undefined, 2);
  // One line for each list, as in manual edits.
  const lists = /\[\s+("[^\]]*")\s+\]/g;
  const short = text.replaceAll(lists, (_all, list: string) => `[${list.replaceAll(/\s+/g, ' ')}]`);
  writeFileSync(join(ROOT, TABLE), `${short}\n`);
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Installs missing releases of some lines. */
async function install(
  lines: ReadonlySet<string>,
  releases: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, Installed>> {
  const installed = new Map<string, Installed>();
  for (const line of lines) {
    const release = releases.get(line);
    if (release === undefined) throw new Error(`there is no release of Salt ${line}`);
    const { python } = await anySaltVenv(release);
    const where = 'import sysconfig; print(sysconfig.get_path("purelib"))';
    const { stdout } = await run(python, ['-c', where]);
    installed.set(line, { release, python, site: stdout.trim() });
  }
  return installed;
}

/** The newest release of each line that the package index has. */
async function published(): Promise<ReadonlyMap<string, string>> {
  const { python } = await saltVenv(newestOf('3008'));
  const { stdout } = await run(python, ['-m', 'pip', 'index', 'versions', 'salt']);
  return newestPublished(stdout);
}

function byLine(releases: readonly string[]): ReadonlyMap<string, string> {
  return new Map(releases.map((release) => [lineOf(release), release]));
}

await runTool({ name: 'drift', usage: USAGE, run: main });
