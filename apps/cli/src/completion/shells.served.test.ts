import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { shellProgram } from '@brine/testing/shells';
import { afterAll, expect, test } from 'vitest';
import { functionsFile, keepFunctions } from './known-functions.ts';
import { completionScript, type Shell } from './scripts.ts';

/** The first run fetches the shells. */
const INSTALL_MS = 180_000;

const run = promisify(execFile);
const DIR = mkdtempSync(join(tmpdir(), 'brine-completion-'));
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

const CONFIG = join(DIR, 'config');
mkdirSync(CONFIG);
writeFileSync(join(CONFIG, 'master'), `root_dir: ${DIR}\npki_dir: ${DIR}/pki\n`);
for (const shelf of ['minions', 'minions_pre', 'minions_rejected', 'minions_denied']) {
  mkdirSync(join(DIR, 'pki', shelf), { recursive: true });
}
for (const id of ['web1.example', 'web2.example', 'db1.example']) {
  writeFileSync(join(DIR, 'pki', 'minions', id), 'PEM');
}
writeFileSync(join(DIR, 'pki', 'minions_pre', 'new1.example'), 'PEM');
writeFileSync(join(DIR, 'only-file'), '');

// As the shells start it: from the sources, so that nothing has to be built.
const ENTRY = new URL('../command-line.ts', import.meta.url).pathname;
const ARGV = "['node', 'brine', ...process.argv.slice(1)]";
const MAIN = `import(${JSON.stringify(ENTRY)}).then((it) => it.runProcess(${ARGV}))`;
const PROGRAM = [
  process.execPath,
  ...['--import', import.meta.resolve('tsx'), '--conditions=source', '-e', MAIN, '--'],
];
const env = { ...process.env, XDG_CACHE_HOME: join(DIR, 'cache'), HOME: DIR };

function scriptOf(shell: Shell): string {
  const path = join(DIR, `completion.${shell}`);
  writeFileSync(path, completionScript(shell, PROGRAM));
  return path;
}

/** The words that a shell offers for a line. */
type Complete = (line: string) => Promise<string[]>;

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

function inBash(): Complete {
  const path = scriptOf('bash');
  return async (line) => {
    const script = `
      source "$1"; COMP_LINE=$2; COMP_POINT=\${#2}; read -r -a COMP_WORDS <<< "$2"
      [[ $2 == *' ' ]] && COMP_WORDS+=('')
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      _brine_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return lines((await run('bash', ['-c', script, 'bash', path, line], { env })).stdout);
  };
}

async function inZsh(): Promise<Complete> {
  const { paths, env: libraries } = await shellProgram('zsh');
  const path = scriptOf('zsh');
  return async (line) => {
    // What compinit and the line editor give to a completion function.
    const script = `
      compdef() { : }; compadd() { shift; print -rl -- "$@" }; _files() { print -r -- FILES }
      source "$1"; words=("\${(@s: :)2}"); CURRENT=\${#words}; _brine_complete`;
    const words = ['-f', '-c', script, 'zsh', path, line];
    return lines((await run(paths.zsh, words, { env: { ...env, ...libraries } })).stdout);
  };
}

async function inFish(): Promise<Complete> {
  const { paths, env: libraries } = await shellProgram('fish');
  const path = scriptOf('fish');
  return async (line) => {
    const script = 'source $argv[1]; complete -C $argv[2]';
    const words = ['--no-config', '-c', script, path, line];
    return lines((await run(paths.fish, words, { env: { ...env, ...libraries } })).stdout);
  };
}

test.each<[Shell, () => Complete | Promise<Complete>]>([
  ['bash', inBash],
  ['zsh', inZsh],
  ['fish', inFish],
])(
  '%s completes commands, options, ids and functions',
  async (shell, start) => {
    await keepFunctions(functionsFile(CONFIG, env), ['test.ping', 'test.echo', 'site.own', 'a b']);
    const complete = await start();
    const given = `-c ${CONFIG}`;
    expect(await complete('brine comp')).toEqual(['completion']);
    expect(await complete('salt --state-verb')).toEqual(['--state-verbose']);
    expect(await complete(`salt ${given} web`)).toEqual(['web1.example', 'web2.example']);
    expect(await complete(`salt ${given} web1.example test.`)).toEqual(['test.echo', 'test.ping']);
    // What stands behind is the same for all shells.
    if (shell !== 'bash') return;
    expect(await complete(`salt ${given} web1.example si`)).toEqual(['site.own']);
    expect(await complete('salt-run jobs.wh')).toEqual(['jobs.why']);
    expect(await complete(`salt-key ${given} -a new`)).toEqual(['new1.example']);
    expect(await complete(`brine salt-cp ${given} db`)).toEqual(['db1.example']);
  },
  INSTALL_MS,
);

test('bash gets only what stands behind a sign that ends its words', async () => {
  const path = scriptOf('bash');
  const script = `
    source "$1"; COMP_LINE='salt --out=js'; COMP_POINT=13; COMP_WORDS=(salt --out = js)
    COMP_CWORD=3; _brine_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(lines((await run('bash', ['-c', script, 'bash', path], { env })).stdout)).toEqual([
    'json',
  ]);
});
