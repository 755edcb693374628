import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dialectOf } from '@brine/cachedir';
import {
  BrineMaster,
  newestOf,
  type SaltConfig,
  type SaltHome,
  type SaltOutput,
  type SaltPorts,
  SaltSandbox,
  saltVenv,
  type SaltVersion,
} from '@brine/testing';

/** Longest that a command waits, in ms. */
const COMMAND_MS = 170_000;

/** A master of either kind, with what a scenario needs of it. */
export interface AnyMaster {
  readonly sandbox: SaltSandbox;
  readonly home: SaltHome & SaltPorts;
  /** Where the event library of 3008 connects. */
  readonly eventDir: string;
  salt(words: readonly string[]): Promise<SaltOutput>;
  close(): Promise<void>;
}

/** What both kinds of masters are started with. */
export interface MasterSetup {
  readonly config: SaltConfig;
  /** Environments below the directory `pillar`; each is one of `pillar_roots`. */
  readonly environments: readonly string[];
  /** Writes what is below `files` and `pillar`. */
  writeRoots(home: SaltHome): Promise<void>;
}

/** Minions by their ids. */
export type Minions = ReadonlyMap<string, SaltVersion>;

/** Answers by the ids of minions. */
export type Answers = Record<string, unknown>;

/** Writes texts by their paths. */
export async function writeTree(root: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
}

/** A Brine master. */
export async function brineMaster(setup: MasterSetup): Promise<AnyMaster> {
  const master = await BrineMaster.start(
    { ...setup.config, auto_accept: true },
    { onHome: (home) => placeRoots(home, setup) },
  );
  const { sandbox, home } = master;
  return {
    sandbox,
    home,
    eventDir: join(home.sockDir, dialectOf(newestOf('3008')).framing),
    salt: (words) => master.brine('salt', words, COMMAND_MS),
    close: () => master.close(),
  };
}

/** A stock master of the newest 3008. */
export async function stockMaster(setup: MasterSetup): Promise<AnyMaster> {
  const venv = await saltVenv(newestOf('3008'));
  const sandbox = await SaltSandbox.create();
  const home = await sandbox.master({ ...setup.config, auto_accept: true });
  await placeRoots(home, setup);
  try {
    await sandbox.startMaster(venv, home);
  } catch (error) {
    await sandbox.close();
    throw error;
  }
  return {
    sandbox,
    home,
    eventDir: home.sockDir,
    salt: (words) => sandbox.run(venv, 'salt', home, words, COMMAND_MS),
    close: () => sandbox.close(),
  };
}

/** The directories are known only once the master's home is there. */
async function placeRoots(home: SaltHome, setup: MasterSetup): Promise<void> {
  await setup.writeRoots(home);
  const file = join(home.configDir, 'master');
  const lines = (await readFile(file, 'utf8')).split('\n');
  const roots = setup.environments.map((env) => [env, [join(home.configDir, 'pillar', env)]]);
  const kept = lines.filter((line) => !line.startsWith('pillar_roots:'));
  const placed = `pillar_roots: ${JSON.stringify(Object.fromEntries(roots))}`;
  await writeFile(file, [placed, ...kept].join('\n'));
}

/** Starts stock minions, each with a directory of its own in the grain `brine_out`, and waits. */
export async function startMinions(master: AnyMaster, minions: Minions): Promise<void> {
  const { sandbox, home } = master;
  for (const [id, version] of minions) {
    const out = join(sandbox.dir, `out-${id}`);
    await mkdir(out);
    const minion = await sandbox.minion(id, home.retPort, { grains: { brine_out: out } });
    sandbox.startMinion(await saltVenv(version), minion);
  }
  for (let tries = 0; tries < 60; tries += 1) {
    const { stdout } = await master.salt([
      '*',
      'test.ping',
      '--static',
      '--out',
      'json',
      '-t',
      '5',
    ]);
    const answers = (stdout.trim().startsWith('{') ? JSON.parse(stdout) : {}) as Answers;
    if ([...minions.keys()].every((id) => answers[id] === true)) return;
  }
  throw new Error('not all minions came');
}

/** What all minions answer. */
export async function askAll(master: AnyMaster, words: readonly string[]): Promise<Answers> {
  const { stdout, stderr } = await master.salt([
    ...['*', ...words, '--static', '--out', 'json', '-t', '150'],
  ]);
  try {
    return JSON.parse(stdout) as Answers;
  } catch (cause) {
    throw new Error(`${words.join(' ')}: ${stdout}${stderr}`, { cause });
  }
}

const OF_THE_MOMENT = ['duration', 'start_time', 'pid', '_stamp', 'jid'];

/** A value without what differs from run to run. */
export function timeless(value: unknown, dir: string): unknown {
  if (typeof value === 'string') return inOrder(value.replaceAll(dir, '{sandbox}'));
  if (Array.isArray(value)) return value.map((item) => timeless(item, dir));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !OF_THE_MOMENT.includes(key));
  return Object.fromEntries(
    kept.map(([key, item]) => [key.replaceAll(dir, '{sandbox}'), timeless(item, dir)]),
  );
}

/** What `file.recurse` says of each file stands in the order of a Python set: any. */
function inOrder(comment: string): string {
  if (!comment.startsWith('#### ')) return comment;
  return comment
    .split(/\n+(?=#### )/)
    .sort()
    .join('\n');
}
