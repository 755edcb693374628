import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { applyExclude } from './compile/exclude.ts';
import { reconcileExtend } from './compile/extend.ts';
import { compileHighData, type LowData } from './compile/low-chunks.ts';
import { requisiteIn } from './compile/requisite-in.ts';
import { verifyHigh } from './compile/verify-high.ts';
import type { RunOptions, RunPorts } from './ports.ts';
import { beacons, listening } from './run/listen.ts';
import { type Running, StateRun } from './run/state-run.ts';
import type { HighData } from './values.ts';

/** Results by tag, or the errors in the data. */
export type HighResult = Running | readonly string[];

/** Options of a run of high data. */
export interface HighOptions extends RunOptions {
  /** `disabled_requisites`. */
  readonly disabled: readonly string[];
  readonly orchestrationJid?: string;
}

/**
 * Compiles high data: extensions, requisites of others, exclusions, order. Changes the data (Salt:
 * the first half of State.call_high).
 */
export function compileHigh(
  high: HighData,
  { stateFunction }: Pick<RunPorts, 'stateFunction'>,
  { disabled, orchestrationJid }: Pick<HighOptions, 'disabled' | 'orchestrationJid'>,
): LowData | readonly string[] {
  const errors = [...reconcileExtend(high, false), ...verifyHigh(high)];
  if (errors.length > 0) return errors;
  const refused = new Set(disabled);
  errors.push(...requisiteIn(high, refused));
  applyExclude(high);
  if (errors.length > 0) return errors;
  const low = compileHighData(high, {
    watches: (module) => stateFunction(`${module}.mod_watch`) !== undefined,
    disabled: refused,
    ...(orchestrationJid === undefined ? {} : { orchestrationJid }),
  });
  return low.errors.length > 0 ? low.errors : low;
}

/**
 * Compiles high data and runs it (Salt: State.call_high).
 * @throws StateArgumentError RunCutOffError
 */
export async function callHigh(
  high: SaltValue,
  ports: RunPorts,
  options: HighOptions,
): Promise<HighResult> {
  if (!isMap(high)) return verifyHigh(high);
  const low = compileHigh(high, ports, options);
  if (!('graph' in low)) return low;
  const { chunks, graph } = low;
  const run = new StateRun(ports, options, graph);
  const running = await run.chunks(chunks);
  const { chunks: woken, errors } = listening(chunks, running);
  for (const chunk of woken) graph.addChunk(chunk);
  add(running, await run.chunks(woken));
  for (const ret of errors.values()) ret.set('__run_num__', run.nextNumber());
  add(running, errors);
  const beaconed = beacons(chunks);
  for (const chunk of beaconed) graph.addChunk(chunk);
  add(running, await run.chunks(beaconed));
  return running;
}

function add(running: Running, more: ReadonlyMap<string, SaltMap>): void {
  for (const [tag, ret] of more) running.set(tag, ret);
}
