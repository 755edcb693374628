import { type MasterOptions, saltValue } from '@brine/config';
import { isMap, mapOf, type SaltMap } from '@brine/wire';

/** Salt's default for `reactor_worker_hwm`. The queue is on disk, so its limit is the disk. */
const STOCK_HWM = 10_000;

/** True if a reactor is configured (salt/runners/reactor.py). */
export function asksForReactor({
  reactor,
  engines,
}: Pick<MasterOptions, 'reactor' | 'engines'>): boolean {
  if (typeof reactor === 'string' ? reactor !== '' : Array.isArray(reactor) && reactor.length > 0) {
    return true;
  }
  return ownSettings(engines).length > 0;
}

/** Limit of concurrent reactions in a process, and of the runners and wheels that they run. */
export function reactorThreads(
  options: Pick<MasterOptions, 'engines' | 'reactorWorkerThreads'>,
): number {
  return Math.max(1, engineSetting(options, 'worker_threads') ?? options.reactorWorkerThreads);
}

/** Limit of waiting reactions in the queue of the cluster; 0: the room on disk. */
export function mostWaiting(options: Pick<MasterOptions, 'engines' | 'reactorWorkerHwm'>): number {
  const hwm = engineSetting(options, 'worker_hwm') ?? options.reactorWorkerHwm;
  return hwm === STOCK_HWM ? 0 : hwm;
}

/** A setting of the engine `reactor`, which overrides the option (salt/engines/reactor.py). */
function engineSetting(
  { engines }: Pick<MasterOptions, 'engines'>,
  name: string,
): number | undefined {
  const values = ownSettings(engines).map((settings) => settings.get(name));
  return values.find((value) => typeof value === 'number');
}

/**
 * The settings of each engine `reactor`, under any entry name. Engines are a list of names and of
 * maps, of which the first key counts, or one map.
 */
function ownSettings(engines: MasterOptions['engines']): SaltMap[] {
  const value = saltValue(engines);
  const list = Array.isArray(value) ? value : [];
  const listed = list.map((one) => (isMap(one) ? [...one][0] : ([one, null] as const)));
  const entries = isMap(value) ? [...value] : listed.filter((one) => one !== undefined);
  return entries.flatMap(([name, given]) => {
    const settings = isMap(given) ? given : mapOf({});
    return (settings.get('engine_module') ?? name) === 'reactor' ? [settings] : [];
  });
}
