// Makes what is installed without a clone: npm run packages -- [deb] [archive] [--out DIR], by
// default both into dist/packages. It packs what is built (npm run build) and installed (npm ci),
// and writes nowhere else.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeArchive } from './archive.ts';
import { makeDebianPackages } from './debian.ts';
import { layProgram } from './program-tree.ts';
import { releaseOf } from './release.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const KINDS = ['deb', 'archive'] as const;

/** What to make. */
export interface PackagesOptions {
  readonly kinds: readonly (typeof KINDS)[number][];
  readonly out: string;
  /** Another version than that of the repository: for tests of upgrades. */
  readonly version?: string | undefined;
  /** Compress fast rather than well: for tests. */
  readonly fast: boolean;
}

/** Makes packages, and gives their paths. */
export async function makePackages(options: PackagesOptions): Promise<string[]> {
  const { kinds, fast } = options;
  const out = resolve(options.out);
  await mkdir(out, { recursive: true });
  const release = await releaseOf(ROOT, options.version);
  // Beside the results: trees are moved and not copied.
  const work = await mkdtemp(join(out, '.work-'));
  try {
    const made: string[] = [];
    for (const kind of kinds) {
      const tree = await layProgram(ROOT, join(work, `tree-${kind}`));
      const ways = { release, tree, work: join(work, kind), out, fast };
      await mkdir(ways.work);
      made.push(...(kind === 'deb' ? await makeDebianPackages(ways) : [await makeArchive(ways)]));
    }
    return made;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: 'string', default: 'dist/packages' },
      version: { type: 'string' },
      fast: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => !KINDS.some((kind) => kind === name));
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: say ${KINDS.join(' or ')}`);
  const kinds = KINDS.filter((kind) => positionals.length === 0 || positionals.includes(kind));
  if (!existsSync(join(ROOT, 'apps/cli/dist/command-line.js'))) {
    throw new Error('nothing is built: npm run build');
  }
  for (const file of await makePackages({ kinds, ...values })) console.log(file);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  try {
    await main();
  } catch (error) {
    console.error(`packages: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
