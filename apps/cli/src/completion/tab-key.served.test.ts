// What Tab makes of an id is what the command gets: nothing of a stranger's id runs.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellProgram } from '@brine/testing/shells';
import { afterAll, expect, test } from 'vitest';
import { completionScript, type Shell } from './scripts.ts';

/** The first run fetches the shells. */
const INSTALL_MS = 300_000;

const DIR = mkdtempSync(join(tmpdir(), 'brine-tab-'));
afterAll(() => rmSync(DIR, { recursive: true, force: true }));
const OFFER = join(DIR, 'offer');
const GOT = join(DIR, 'got');
const EVIL = join(DIR, 'evil');

interface Started {
  readonly shell: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Defines `salt`, loads the completion, and says so by a file. */
  readonly setup: string;
}

const salt = `printf '%s\\0' "$@" > ${GOT}.new; mv ${GOT}.new ${GOT}`;
// Without a directory for the run fish makes one in /tmp, which stays.
const env = { ...process.env, HOME: DIR, XDG_RUNTIME_DIR: DIR, TERM: 'dumb' };

const SHELLS: Readonly<Record<Shell, (script: string) => Started | Promise<Started>>> = {
  bash: (script) => ({
    shell: ['bash', '--norc', '--noprofile', '-i'],
    setup: `salt() { ${salt}; }; source ${script}; touch ${OFFER}`,
    env,
  }),
  zsh: async (script) => {
    const { paths, env: libraries, modules } = await shellProgram('zsh');
    const path = modules === undefined ? '' : `module_path=(${modules}); `;
    // As compinit would bind it; the functions of zsh are in another package.
    const bound = `compdef() { :; }; zle -C tab complete-word _brine_complete; bindkey '^I' tab`;
    return {
      shell: [paths.zsh, '-f', '-i'],
      setup: `${path}${bound}; salt() { ${salt}; }; source ${script}; touch ${OFFER}`,
      env: { ...env, ...libraries },
    };
  },
  fish: async (script) => {
    const { paths, env: libraries } = await shellProgram('fish');
    const fishSalt = `printf '%s\\0' $argv > ${GOT}.new; mv ${GOT}.new ${GOT}`;
    return {
      shell: [paths.fish, '--no-config', '-i'],
      setup: `function salt; ${fishSalt}; end; source ${script}; touch ${OFFER}`,
      env: { ...env, ...libraries },
    };
  },
};

const signs = Array.from({ length: 0x7f - 0x20 }, (_, at) => String.fromCharCode(0x20 + at));
const hostile = [
  `x;touch ${EVIL};`,
  `x'$(touch ${EVIL})'`,
  `x"\`touch ${EVIL}\`"`,
  `x|touch ${EVIL}`,
  `x>${EVIL}`,
  `x&touch ${EVIL}&`,
  `x'';touch ${EVIL} '`,
  `x\\';touch ${EVIL} #`,
];
const words: readonly (readonly [typed: string, id: string])[] = [
  ...signs.map((sign) => ['x', `x${sign}b`] as const),
  // No id begins with a dot, and fish takes it for what is hidden.
  ...signs.filter((sign) => sign !== '.').map((sign) => ['', `${sign}b`] as const),
  ...hostile.map((id) => ['x', id] as const),
];

test.each<Shell>(['bash', 'zsh', 'fish'])(
  'a command gets each id as it is after Tab in %s',
  async (shell) => {
    rmSync(OFFER, { force: true });
    const script = join(DIR, `completion.${shell}`);
    writeFileSync(script, completionScript(shell, ['sh', '-c', `cat ${OFFER}`]));
    const started = await SHELLS[shell](script);
    const fixture = join(import.meta.dirname, 'tab-key.fixture.py');
    const input = JSON.stringify({ ...started, env: undefined, offer: OFFER, got: GOT, words });
    const ran = spawnSync('python3', [fixture], { input, encoding: 'utf8', env: started.env });
    expect(ran.stderr).toBe('');
    const got = JSON.parse(ran.stdout) as unknown[];
    expect(got).toEqual(words.map(([, id]) => [id]));
    expect(existsSync(EVIL)).toBe(false);
  },
  INSTALL_MS,
);
