import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { growsOld } from '@brine/testing/waits';
import { type CaseLab, type Replaced, resetKeys, writeKeyless } from './case-lab.ts';
import type { RecordedCase } from './recorded-cases.ts';
import type { Tools } from './tools.ts';

const ON_TERMINAL = fileURLToPath(new URL('./on-terminal.py', import.meta.url));
const LIMIT_MS = 60_000;
const LEFT_BEHIND_MS = 1000;
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;
/** No command exits so: its time was up. */
const NOT_ENDED = -1;

/** What a case did. */
export interface Seen {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly files: Readonly<Record<string, string>>;
  /** What in these texts belongs to this run. */
  readonly replaced: readonly Replaced[];
}

interface Place {
  readonly lab: CaseLab;
  readonly tools: Tools;
  readonly scratch: string;
  readonly keysRoot: string;
  /** What a token of the recording stands for. */
  readonly words: Map<string, string>;
  readonly env: Record<string, string>;
}

/** Runs a case with all its steps. A command that does not end within 60 s is killed. */
export async function runCase(lab: CaseLab, tools: Tools, recorded: RecordedCase): Promise<Seen> {
  const place = await makePlace(lab, tools);
  for (const step of recorded.before ?? []) {
    if (typeof step === 'object') await runStep(place, step.argv, step.capture);
    else await runHook(place, step);
  }
  const beside = (recorded.during ?? []).map(async ({ delay, argv }) => {
    await growsOld('the command that runs meanwhile', delay * 1000);
    await runStep(place, argv);
  });
  const ended = await runWords(place, recorded);
  await Promise.all(beside);
  return { ...ended, files: await filesOf(place, recorded), replaced: replacedIn(place) };
}

/** Folders of its own for each run: cases stand side by side. */
async function makePlace(lab: CaseLab, tools: Tools): Promise<Place> {
  const dir = await mkdtemp(lab.folder('case-'));
  const [scratch, keysRoot, keysConfig, home] = [
    'scratch',
    'root-of-keys',
    'CONF-keys',
    'home',
  ].map((name) => join(dir, name)) as [string, string, string, string];
  for (const made of [scratch, home]) await mkdir(made);
  await writeKeyless(keysConfig, keysRoot);
  const words = new Map([
    ['CONF', tools.config],
    ['CONF-keys', keysConfig],
    ['CONF-web1', lab.minionConfig('web1.example')],
    ...['nomaster', 'nokey', 'bad', 'missing'].map((name): [string, string] => [
      `CONF-${name}`,
      lab.folder(`CONF-${name}`),
    ]),
    ['{SCRATCH}', scratch],
  ]);
  const { PYTHONWARNINGS: _, ...env } = lab.sandbox.env();
  return { lab, tools, scratch, keysRoot, words, env: { ...env, ...tools.env, HOME: home } };
}

function replacedIn({ lab, tools, scratch, words }: Place): readonly Replaced[] {
  const keys = words.get('CONF-keys') ?? '';
  return [...lab.replaced(), [scratch, '{SCRATCH}'], [tools.config, 'CONF'], [keys, 'CONF-keys']];
}

async function runHook({ lab, keysRoot }: Place, hook: string): Promise<void> {
  const seconds = /^sleep ([\d.]+)$/.exec(hook)?.[1];
  if (hook === 'keys-reset') await resetKeys(keysRoot);
  else if (hook === 'jobs-clear') await lab.clearJobs();
  else if (seconds !== undefined) await growsOld('what was before', Number(seconds) * 1000);
  else throw new Error(`unknown hook ${hook}`);
}

async function runStep(place: Place, argv: readonly string[], name?: string): Promise<void> {
  const { stdout, stderr } = await runWords(place, { argv });
  if (name === undefined) return;
  const jid = /(?<!\d)20\d{18}(?!\d)/.exec(stdout)?.[0];
  if (jid === undefined) throw new Error(`${argv.join(' ')} printed no jid: ${stdout}${stderr}`);
  place.words.set(`{${name}}`, jid);
}

type Words = Pick<RecordedCase, 'argv' | 'stdin' | 'signal' | 'tty'>;

interface Ended {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function runWords(place: Place, { argv, stdin, signal, tty }: Words): Promise<Ended> {
  const [program = '', ...words] = argv;
  const started = [...place.tools.start(program), ...words.map((word) => filled(place, word))];
  const python = place.lab.venv.python;
  const [command = '', ...args] = tty === true ? [python, ON_TERMINAL, ...started] : started;
  // A group of its own: stock commands leave children behind.
  const child = spawn(command, args, {
    env: place.env,
    cwd: place.scratch,
    detached: true,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  if (stdin !== undefined) {
    child.stdin?.on('error', ignoreClosed);
    child.stdin?.end(stdin);
  }
  if (signal !== undefined) {
    const send = (): void => void child.kill(`SIG${signal.send}`);
    setTimeout(send, signal.after * 1000);
  }
  return ended(child);
}

/** A command may end without having read its input. */
function ignoreClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

function ended(child: ChildProcess): Promise<Ended> {
  const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let bytes = 0;
  const endGroup = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= OUTPUT_BYTES_MAX) written[name].push(chunk);
      else endGroup();
    });
  }
  return new Promise((resolve, reject) => {
    const limit = setTimeout(endGroup, LIMIT_MS);
    child.once('error', reject);
    let leftBehind: NodeJS.Timeout | undefined;
    // Children that it left behind would hold the pipes open.
    child.once('exit', () => (leftBehind = setTimeout(endGroup, LEFT_BEHIND_MS)));
    child.once('close', (code) => {
      clearTimeout(limit);
      clearTimeout(leftBehind);
      const text = (name: 'stdout' | 'stderr'): string => Buffer.concat(written[name]).toString();
      resolve({ exit: code ?? NOT_ENDED, stdout: text('stdout'), stderr: text('stderr') });
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A word of the recording with its tokens replaced. Configuration folders stand alone. */
function filled({ words }: Place, word: string): string {
  if (word.startsWith('CONF')) return words.get(word) ?? word;
  let text = word;
  for (const [token, value] of words) {
    if (token.startsWith('{')) text = text.replaceAll(token, value);
  }
  return text;
}

/** The texts, or for keys the modes, of the files that the recording has. */
async function filesOf({ scratch }: Place, { files = {} }: RecordedCase): Promise<Seen['files']> {
  const found: Record<string, string> = {};
  for (const [name, wanted] of Object.entries(files)) {
    const path = join(scratch, name.replace('<HOST>', hostname()));
    try {
      const isMode = /^0o\d+$/.test(wanted);
      const { mode } = await stat(path);
      found[name] = isMode ? `0o${(mode & 0o777).toString(8)}` : await readFile(path, 'utf8');
    } catch (error) {
      found[name] = `no such file: ${(error as NodeJS.ErrnoException).code}`;
    }
  }
  return found;
}
