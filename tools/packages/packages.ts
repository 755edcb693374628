// Makes the packages for installation without a clone: `npm run packages`. Packs the built (npm run
// build) and installed (npm ci) checkout, and writes only to its directory.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { drawOptions, flag, readArguments, runTool, text } from '@brine/swarm/options';
import { UsageError } from '@brine/swarm/options';
import { makeArchive } from './archive.ts';
import { makeDebianPackages } from './debian.ts';
import { layProgram } from './program-tree.ts';
import { releaseOf } from './release.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const KINDS = ['deb', 'archive'] as const;
const OPTIONS = {
  out: text('<dir>', 'gets them', 'dist/packages'),
  version: text('<version>', 'another one than that of the repository: for tests of upgrades'),
  fast: flag('compress fast rather than well: for tests'),
};
const USAGE = `npm run packages -- [deb] [archive] [options]    both by default

${drawOptions(OPTIONS)}`;

/** Options for making packages. */
export interface PackagesOptions {
  readonly kinds: readonly (typeof KINDS)[number][];
  readonly out: string;
  /** Another version than that of the repository: for tests of upgrades. */
  readonly version?: string | undefined;
  /** Compress fast rather than well: for tests. */
  readonly fast: boolean;
}

/** Makes packages, and returns their paths. */
export async function makePackages(options: PackagesOptions): Promise<string[]> {
  const { kinds, fast } = options;
  const out = resolve(options.out);
  await mkdir(out, { recursive: true });
  const release = await releaseOf(ROOT, options.version);
  // Beside the results, so that trees are moved and not copied.
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

async function main(args: readonly string[]): Promise<number> {
  const { asked, words } = readArguments(args, OPTIONS);
  const unknown = words.filter((name) => !KINDS.some((kind) => kind === name));
  if (unknown.length > 0) throw new UsageError(`no such package: ${unknown.join(', ')}`);
  const kinds = KINDS.filter((kind) => words.length === 0 || words.includes(kind));
  if (!existsSync(join(ROOT, 'apps/cli/dist/command-line.js'))) {
    throw new UsageError('nothing is built: npm run build');
  }
  for (const file of await makePackages({ kinds, ...asked })) console.log(file);
  return 0;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  await runTool({ name: 'packages', usage: USAGE, run: main });
}
