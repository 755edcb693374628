import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from './command-line.ts';
import type { Terminal } from './terminal.ts';

interface Case {
  readonly name: string;
  readonly version: string;
  readonly argv: readonly string[];
  readonly stdin?: string;
  readonly before?: readonly (string | { readonly argv: readonly string[] })[];
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly files?: Readonly<Record<string, string>>;
}

const FIXTURES = fileURLToPath(new URL('../../../test/fixtures/transcripts/', import.meta.url));
const ROOT = mkdtempSync(join(tmpdir(), 'brine-cli-test-'));
const SCRATCH = join(ROOT, 'scratch');

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(ROOT, { recursive: true, force: true });
});

function configure(name: string): string {
  const dir = join(ROOT, name);
  mkdirSync(dir, { recursive: true });
  const root = join(ROOT, `root-of-${name}`);
  const paths = ['pki', 'cache', 'sock'].map((part) => [part, join(root, part)]);
  const [pki, cache, sock] = paths.map(([, path]) => path);
  writeFileSync(
    join(dir, 'master'),
    `root_dir: ${root}\npki_dir: ${pki}\ncachedir: ${cache}\nsock_dir: ${sock}\nuser: root\n`,
  );
  return dir;
}

const CONFIGS: ReadonlyMap<string, string> = new Map([
  ['CONF', configure('nomaster')],
  ['CONF-keys', configure('keys')],
  ['CONF-nomaster', configure('nomaster')],
  ['CONF-nokey', configure('nokey')],
  ['CONF-missing', join(ROOT, 'missing')],
  ['CONF-web1', configure('web1')],
]);

const SHELVES = new Map([
  ['minions', ['spare-a', 'spare-b']],
  ['minions_pre', ['new1', 'new2']],
  ['minions_rejected', ['bad1']],
  ['minions_denied', ['denied1']],
]);

function resetKeys(): void {
  const root = join(ROOT, 'root-of-keys');
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(root, 'cache'), { recursive: true });
  for (const [shelf, names] of SHELVES) {
    mkdirSync(join(root, 'pki', shelf), { recursive: true });
    for (const name of names) {
      const id = `${name}.example`;
      copyFileSync(join(FIXTURES, 'lab/keys', `${id}.pub`), join(root, 'pki', shelf, id));
    }
  }
}

interface Result {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(argv: readonly string[], stdin = ''): Promise<Result> {
  const [program = 'salt', ...words] = argv;
  const args = words.map((word) => CONFIGS.get(word) ?? word.replace('{SCRATCH}', SCRATCH));
  const lines = stdin === '' ? [] : stdin.replace(/\n$/, '').split('\n');
  const written = { out: '', err: '' };
  const terminal: Terminal = {
    isTerminal: false,
    ownsSignals: false,
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    ask: async (question, where) => {
      written[where] += question;
      return lines.shift();
    },
    askSecret: async (question) => {
      written.err += question;
      return lines.shift();
    },
    readInput: async () => stdin,
  };
  const exit = await runCommandLine(program, args, terminal);
  return { exit, stdout: written.out, stderr: written.err };
}

/** What differs from run to run, or is Python's and not ours. */
function normal(text: string): string {
  let shown = text
    .replaceAll(join(ROOT, 'root-of-nomaster'), '<NOROOT>')
    .replaceAll(join(ROOT, 'root-of-nokey'), '<NOKEYROOT>');
  for (const [name, dir] of CONFIGS) if (name !== 'CONF') shown = shown.replaceAll(dir, name);
  // The help page is in our own words; a stack of Python is not to be had here.
  if (/^Usage: .*\n[^]*\nOptions:\n/.test(shown)) return '<USAGE>\n';
  return shown.replace(/Traceback \(most recent call last\):\n(?:[ ].*\n)*\w+Error: .*\n?/g, '');
}

// Cases that need a running master, and the few where Brine differs on purpose (README).
const LEFT_OUT = new RegExp(
  [
    'live|eauth|quiet$|gen-keys$|gen-keys-new-dir|salt-run-master-down|config-dump|bad-config',
    'static-batch|loglevel-info|dash-arg|salt-api|run-bad-out',
  ].join('|'),
);

function load(file: string): Case[] {
  const cases = JSON.parse(readFileSync(join(FIXTURES, `${file}.json`), 'utf8')) as Case[];
  return cases.filter(({ version, name, argv }) => {
    const ours = ['salt', 'salt-key', 'salt-run', 'salt-call'].includes(argv[0] ?? '');
    return version.startsWith('3008.') && ours && !LEFT_OUT.test(name);
  });
}

beforeEach(() => {
  vi.stubEnv('BRINE_EXIT_CODES', 'stock');
  rmSync(SCRATCH, { recursive: true, force: true });
  mkdirSync(SCRATCH, { recursive: true });
});

describe.each(['salt-key', 'option-errors'])('%s', (file) => {
  const cases = load(file);

  it.each(cases.map((entry) => [entry.name, entry] as const))('%s', async (_name, entry) => {
    for (const step of entry.before ?? []) {
      if (step === 'keys-reset') resetKeys();
      else if (typeof step === 'object') await run(step.argv);
    }
    const result = await run(entry.argv, entry.stdin);
    expect({
      exit: result.exit,
      stdout: normal(result.stdout),
      stderr: normal(result.stderr),
    }).toEqual({
      exit: entry.exit,
      stdout: normal(entry.stdout),
      stderr: normal(entry.stderr),
    });
    for (const [name, text] of Object.entries(entry.files ?? {})) {
      if (!text.startsWith('0o')) expect(readFileSync(join(SCRATCH, name), 'utf8')).toBe(text);
    }
  });

  it('covers most of the recorded cases', () => {
    expect(cases.length).toBeGreaterThan(file === 'salt-key' ? 55 : 18);
  });
});

describe('salt-key beyond the recordings', () => {
  it('asks for a new AES key after a deletion, and not after an acceptance', async () => {
    resetKeys();
    const dropFile = join(ROOT, 'root-of-keys/cache/.dfn');
    await run(['salt-key', '-c', 'CONF-keys', '-y', '-a', 'new1.example']);
    expect(existsSync(dropFile)).toBe(false);
    await run(['salt-key', '-c', 'CONF-keys', '-y', '-d', 'new1.example']);
    expect(readFileSync(dropFile, 'utf8')).toMatch(/_master$/);
  });

  it('does not ask with --rotate-aes-key=False', async () => {
    resetKeys();
    const argv = ['salt-key', '-c', 'CONF-keys', '-y', '-r', 'new1.example'];
    await run([...argv, '--rotate-aes-key=False']);
    expect(existsSync(join(ROOT, 'root-of-keys/cache/.dfn'))).toBe(false);
  });

  it('makes a pair and shows its fingerprint', async () => {
    resetKeys();
    const dir = join(SCRATCH, 'pair');
    const argv = ['salt-key', '-c', 'CONF-keys', '--gen-keys=mini', `--gen-keys-dir=${dir}`];
    const { exit, stdout } = await run(argv);
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^return:\n {4}(?:[0-9a-f]{2}:){31}[0-9a-f]{2}\n$/);
    expect(readFileSync(join(dir, 'mini.pub'), 'utf8')).toContain('BEGIN PUBLIC KEY');
  });

  it('says so where a key is no key, and leaves it where it is', async () => {
    resetKeys();
    const path = join(ROOT, 'root-of-keys/pki/minions_pre/new1.example');
    writeFileSync(path, 'not a key\n');
    const { stderr } = await run(['salt-key', '-c', 'CONF-keys', '-y', '-a', 'new1.example']);
    expect(stderr).toBe('Unable to accept invalid key for new1.example.\n');
    expect(readFileSync(path, 'utf8')).toBe('not a key\n');
  });
});

describe('exit codes where Salt says 0 although nothing was done', () => {
  const nobody = configure('strict');
  beforeEach(() => void vi.stubEnv('BRINE_EXIT_CODES', ''));

  it('salt without a master exits with 2', async () => {
    const { exit, stdout } = await run(['salt', '-c', nobody, 'web1.example', 'test.ping']);
    expect([exit, stdout]).toEqual([
      2,
      'The salt master could not be contacted. Is master running?\n',
    ]);
  });

  it('salt-key --auth without a master exits with 2', async () => {
    const login = ['--auth', 'sharedsecret', '--username', 'api', '--password', 'x'];
    const { exit, stdout } = await run(['salt-key', '-c', nobody, '-L', ...login]);
    expect([exit, stdout]).toEqual([
      2,
      'The salt master could not be contacted. Is master running?\n',
    ]);
  });
});

describe('the program itself', () => {
  it('lists its commands', async () => {
    const { exit, stdout } = await run(['brine', '--help']);
    expect(exit).toBe(0);
    const names = ['salt', 'key', 'run', 'cp', 'call', 'master', 'minion', 'status', 'trace'];
    for (const name of [...names, 'completion', 'demo']) {
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    }
  });

  it('refuses an unknown command', async () => {
    expect((await run(['brine', 'nosuch'])).exit).toBe(64);
  });

  it('behaves alike as a link and as a command', async () => {
    const link = await run(['salt-key', '--nosuch']);
    expect(await run(['brine', 'key', '--nosuch'])).toEqual(link);
  });

  it('takes abbreviated and joined options', async () => {
    const cases = [
      ['salt-key', '-c', 'CONF-keys', '--list-a', '--out=raw'],
      ['salt-key', '-cCONF-keys', '-L', '--out', 'raw'],
    ];
    resetKeys();
    const config = CONFIGS.get('CONF-keys') ?? '';
    const [long, short] = await Promise.all(
      cases.map((argv) => run(argv.map((word) => word.replace(/^-cCONF-keys$/, `-c${config}`)))),
    );
    expect(long?.exit).toBe(0);
    expect(short).toEqual(long);
  });

  it('names the options that an abbreviation could mean', async () => {
    const { stderr } = await run(['salt-key', '--out-f']);
    expect(stderr).toContain('ambiguous option: --out-f (--out-file, --out-file-append?)');
  });
});
