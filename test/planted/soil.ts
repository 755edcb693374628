import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { PURE_SEEDS } from '../simulation/seeds.ts';
import type { PlantedBug } from './bugs.ts';

const ROOT = realpathSync(new URL('../..', import.meta.url).pathname);
const COPIED = [
  'libs',
  'apps',
  'packaging',
  'tools',
  'test',
  'package.json',
  'tsconfig.base.json',
  'tsconfig.json',
  'vitest.config.ts',
];
// What was built stays: the set-up of a layer (vitest's globalSetup) runs from it.
const LEFT_OUT = /(^|\/)node_modules$/;
/** A search that takes longer than this is taken for one that never ends, ms. */
const TIMEOUT_MS = 60 * 60_000;
const MAX_OUTPUT_CHARS = 20_000_000;

/** Who finds what only PostgreSQL can see: its rows beside those of the simulated store. */
const STORE_TEST = 'test/simulation/world/store.served.test.ts';

/** What came of a search. */
export interface Find {
  readonly found: boolean;
  /** The seed that found it: so many runs it took. */
  readonly seed: number | undefined;
  /** The layer of tests that found it. */
  readonly layer: Layer;
  /** The rule that was broken, or the test that failed. */
  readonly how: string;
}

/** The layers of tests, as in vitest.config.ts. */
export type Layer = 'pure' | 'served' | 'masters' | 'deep';

/** The layer of a test file, which is in its name. */
function layerOf(file: string): Layer {
  return (/\.(served|masters|deep)\.test\.ts$/.exec(file)?.[1] as Layer | undefined) ?? 'pure';
}

// The lines of git that need not be there any more as they were: one on each side must.
const APPLY = ['apply', '--recount', '-C1'];

/** Tells why a patch does not fit the tree as it is; empty where it does. */
export function misfit(bug: PlantedBug): string {
  try {
    execFileSync('git', [...APPLY, '--check', bug.path], { cwd: ROOT, stdio: 'pipe' });
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A copy of the tree in which bugs are planted. Tests and simulation run the sources. */
export class Soil implements Disposable {
  readonly #path: string;

  constructor() {
    this.#path = mkdtempSync(join(realpathSync(tmpdir()), 'brine-planted-'));
    for (const name of COPIED) {
      cpSync(join(ROOT, name), join(this.#path, name), {
        recursive: true,
        filter: (source) => !LEFT_OUT.test(source),
      });
    }
    this.#linkPackages();
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { recursive: true, force: true });
  }

  /** Plants the bug, searches, and takes it out again. `seeds`: how many the simulation tries. */
  async search(bug: PlantedBug, seeds: number): Promise<Find> {
    this.#git([...APPLY, bug.path]);
    try {
      if (bug.finder === 'simulation') return await this.#simulate(seeds);
      return await this.#test(bug.finder);
    } finally {
      this.#git([...APPLY, '-R', bug.path]);
    }
  }

  /** The same search where nothing is planted: it has to find nothing. */
  async searchClean(seeds: number): Promise<readonly Find[]> {
    return [await this.#simulate(seeds), await this.#test(STORE_TEST)];
  }

  async #simulate(seeds: number): Promise<Find> {
    const main = 'test/simulation/main.ts';
    const tsx = ['--import', 'tsx', '--conditions=source'];
    const { code, output } = await this.#run([...tsx, main, '1', String(seeds)]);
    const held = {
      found: false,
      seed: undefined,
      layer: 'deep',
      how: `${seeds} seeds hold`,
    } as const;
    if (code === 0) return held;
    const broken = /^seed (\d+) \([a-z]+\): (.*), [0-9a-f]*$/m.exec(output);
    // Without a rule that was broken it was something else that went wrong.
    if (broken === null) throw new Error(`no seed ran: ${output.slice(-500)}`);
    const seed = Number(broken[1]);
    const layer = seed <= PURE_SEEDS ? 'pure' : 'deep';
    return { found: true, seed, layer, how: broken[2] ?? '' };
  }

  async #test(file: string): Promise<Find> {
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    const layer = layerOf(file);
    const { code, output } = await this.#run([vitest, 'run', '--project', layer, file]);
    const failed = /FAIL.*?> ([^\n]*)/.exec(output)?.[1];
    // Without the name of a test that failed it was something else that went wrong.
    if (code !== 0 && failed === undefined) throw new Error(`no test ran: ${output.slice(-500)}`);
    const round = /AssertionError: round (\d+):/.exec(output)?.[1];
    const seed = round === undefined ? undefined : Number(round);
    return { found: code !== 0, seed, layer, how: failed ?? 'the test passes' };
  }

  #run(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
    return new Promise((resolve, reject) => {
      const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' };
      const child = spawn(process.execPath, args, { cwd: this.#path, env, timeout: TIMEOUT_MS });
      let output = '';
      const take = (data: Buffer): void => {
        output = (output + data.toString('utf8')).slice(-MAX_OUTPUT_CHARS);
      };
      child.stdout.on('data', take);
      child.stderr.on('data', take);
      child.on('error', reject);
      child.on('close', (code) => resolve({ code: code ?? 1, output }));
    });
  }

  #git(args: readonly string[]): void {
    execFileSync('git', args, { cwd: this.#path, stdio: 'pipe' });
  }

  /** Packages of others as they are; our own must be those of the copy. */
  #linkPackages(): void {
    this.#linkAll('node_modules', '@brine');
    mkdirSync(join(this.#path, 'node_modules/@brine'));
    for (const name of readdirSync(join(ROOT, 'node_modules/@brine'))) {
      const place = relative(ROOT, realpathSync(join(ROOT, 'node_modules/@brine', name)));
      symlinkSync(join(this.#path, place), join(this.#path, 'node_modules/@brine', name));
    }
    for (const place of ['libs', 'apps', 'tools']) {
      for (const name of readdirSync(join(ROOT, place))) {
        const own = join(place, name, 'node_modules');
        if (existsSync(join(ROOT, own))) this.#linkAll(own, '');
      }
    }
  }

  #linkAll(place: string, except: string): void {
    mkdirSync(join(this.#path, place));
    for (const name of readdirSync(join(ROOT, place))) {
      if (name === except) continue;
      symlinkSync(join(ROOT, place, name), join(this.#path, place, name));
    }
  }
}
