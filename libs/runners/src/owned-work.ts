import type { OwnedWork } from './function.ts';
import type { OwnedKind } from './owned-run.ts';
import { orchestrateWork } from './state/orchestrate.ts';
import { RUNNERS, WHEELS } from './table.ts';

/**
 * For runners that no other process can resume, because only the function knew its progress. The
 * waiting command gets a failure, rather than no answer.
 */
const endedWithout: OwnedWork = async () => ({
  value: 'The process that ran this is gone. It may have done a part of its work; run it again.',
  success: false,
  retcode: 1,
});

/**
 * How a process resumes runs of another one, by their kind. A batch is no call, so its process has
 * another context: see `workBatch`.
 */
export const OWNED_WORK: ReadonlyMap<OwnedKind, OwnedWork> = new Map<OwnedKind, OwnedWork>([
  ['runner', endedWithout],
  [
    'orchestrate',
    orchestrateWork({
      runner: (name) => RUNNERS.get(name),
      wheel: (name) => WHEELS.get(name),
    }),
  ],
]);
