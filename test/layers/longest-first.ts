import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, from about ten minutes down to two. vitest begins with large files
 * where it has not seen a layer before, as in CI: these are small ones with much to wait for, and
 * one that begins last keeps a single core busy while the other has nothing to do.
 */
const LONGEST = [
  'test/interop/transcripts/commands.deep.test.ts',
  'test/interop/presence/presence.deep.test.ts',
  'test/interop/migrate/swap.deep.test.ts',
  'test/layers/node-releases.deep.test.ts',
  'tools/helm.deep.test.ts',
  'test/interop/stock-tools/real-cli-often.deep.test.ts',
  'test/simulation/more-seeds.deep.test.ts',
  'test/integration/faults/rolling.deep.test.ts',
];

/**
 * Files of one layer share a process: a worker that goes from one layer to another begins anew, so
 * that layers come one after the other, those that wait longest first.
 */
const LAYERS = ['hosts', 'deep', 'masters', 'served', 'pure'];

/** The files that take longest, then layer by layer in vitest's own order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const gone = LONGEST.filter((name) => !existsSync(join(root, name)));
    if (gone.length > 0) throw new Error(`longest-first.ts names ${gone.join()}, which is gone`);
    const place = (file: TestSpecification): number => {
      const at = LONGEST.indexOf(relative(root, file.moduleId));
      return at < 0 ? LONGEST.length + LAYERS.indexOf(file.project.name) : at;
    };
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => place(one) - place(other));
  }
}
