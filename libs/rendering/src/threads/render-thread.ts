import { setPriority } from 'node:os';
import { compilePillar, type PillarMinion, pillarTop } from '@brine/pillar';
import { BlockingCalls } from '@brine/python-host';
import { mapIn, mapOf, pack, type SaltMap, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { hostFilters } from '../filters/host-filters.ts';
import { PillarModules } from './pillar-modules.ts';
import { classTopsOf, pillarOf } from './pillar-tasks.ts';
import type { Render, RenderJob, RenderResult, RenderTask } from './render-task.ts';
import { callFunction, renderSls } from './sls-tasks.ts';
import { threadStart } from './thread-start.ts';

/** Longer than any render may take: the thread is ended before. */
const WAIT_MS = 60_000;

const { data, options } = threadStart();
const outside = {
  now: () => Date.now(),
  random: () => Math.random(),
  filters: hostFilters(options.opts),
};
/** Why the niceness could not be set; logged with the first result. */
let trouble = becomeNice(data.niceness);

/**
 * Runs in a worker thread. A template may run long: a thread can be ended, while an event loop
 * would block.
 *
 * @public the thread pool calls it by its name
 */
export async function runRenderTask({ task, way, hasPython }: RenderJob): Promise<RenderResult> {
  const log: string[] = trouble === undefined ? [] : [trouble];
  trouble = undefined;
  const asked = unpackMap(Buffer.from(task.asked));
  const minion = minionOf(asked);
  const calls = new BlockingCalls(way, WAIT_MS);
  const value = await valueOf(task, {
    asked,
    minion,
    data,
    options,
    outside,
    python: hasPython ? new PillarModules(calls, minion) : undefined,
    calls,
    log: (level, text) => void log.push(`${level}: ${text}`),
  });
  return { packed: pack(value), log };
}

function valueOf(task: RenderTask, render: Render): SaltValue | Promise<SaltValue> {
  switch (task.kind) {
    case 'pillar':
      return pillarOf(render, compilePillar);
    case 'top':
      return pillarOf(render, pillarTop);
    case 'classes':
      return classTopsOf(render, task.tree);
    case 'sls':
      return renderSls(render);
    case 'function':
      return callFunction(render);
  }
}

function minionOf(asked: SaltMap): PillarMinion {
  return {
    id: textOf(asked, 'id') ?? '',
    grains: mapIn(asked, 'grains') ?? mapOf({}),
    saltenv: textOf(asked, 'saltenv') ?? null,
    pillarenv: textOf(asked, 'pillarenv') ?? null,
    override: mapIn(asked, 'override') ?? mapOf({}),
    ext: mapIn(asked, 'ext') ?? null,
  };
}

/** Sets the niceness of this thread. On Linux the process keeps its own. */
function becomeNice(niceness: number | undefined): string | undefined {
  if (niceness === undefined) return undefined;
  try {
    setPriority(0, niceness);
    return undefined;
  } catch (error) {
    return `niceness ${niceness} is not in force: ${(error as Error).message}`;
  }
}
