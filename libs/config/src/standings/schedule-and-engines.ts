import { readSchedule, type ScheduleFault } from '@brine/schedule';
import { isMap } from '@brine/wire';
import { type ConfigMap, type ConfigValue, isConfigMap, isList } from '../option.ts';
import { saltValue } from '../option-values.ts';
import { type StandingTable, stops } from '../standing.ts';
import { hasPython, notServed } from './names.ts';

const NO_ENGINE =
  'Brine has no such engine; brine.python runs those of Salt, a path those of the site';

/** An engine of Salt that the reactor of the workers replaces. */
const REACTOR = 'reactor';

/** Engines of Salt that can not run here, even with an interpreter. */
const NEVER: ReadonlyMap<string, string> = new Map([
  ['thorium', 'Brine has no thorium; use the option reactor'],
]);

/** The master's own schedule, and its engines. */
export const scheduleAndEngineStandings: StandingTable = {
  schedule: stops({}, 'this job of the schedule does not run', {
    lost: (value, values) => faultsIn(value, values).map(({ where }) => where),
    of: (part, value, values) => {
      const fault = faultsIn(value, values).find(({ where }) => where === part);
      return fault === undefined ? {} : standingOf(fault);
    },
  }),
  engines: stops([], NO_ENGINE, {
    lost: otherEngines,
    of: (part) => ({ text: NEVER.get(part) ?? NO_ENGINE }),
  }),
};

/** A job that can not run stops the start; a key without effect causes a warning. */
function standingOf({ why, stops: isLost }: ScheduleFault) {
  return { kind: isLost ? ('stops' as const) : ('ignored' as const), text: why };
}

function faultsIn(value: ConfigValue, values: ConfigMap): readonly ScheduleFault[] {
  const given = saltValue(value);
  if (!isMap(given)) return [{ where: 'schedule', why: 'it must be a map', stops: true }];
  const { jobs, faults } = readSchedule(given, new Date().getFullYear());
  if (hasPython(values)) return faults;
  const why = 'returners run by brine.python, which is not set';
  const returned = jobs.filter(({ returners }) => returners.length > 0);
  const more = returned.map(({ name }) => ({ where: `${name}.returner`, why, stops: false }));
  return [...faults, ...more];
}

/** Engines that neither Brine, nor the site, nor its Salt can run. */
function otherEngines(value: ConfigValue, values: ConfigMap): readonly string[] {
  const modules = entriesOf(value).map(([name, options]) => moduleOf(name, options));
  const foreign = modules.filter((name) => !name.includes('/') && name !== REACTOR);
  return notServed('engines', foreign).filter((name) => NEVER.has(name) || !hasPython(values));
}

function entriesOf(value: ConfigValue): readonly (readonly [string, ConfigValue])[] {
  if (isList(value)) {
    return value.flatMap((entry) =>
      typeof entry === 'string' ? [[entry, null] as const] : entriesOf(entry).slice(0, 1),
    );
  }
  return isConfigMap(value) ? Object.entries(value) : [];
}

function moduleOf(name: string, options: ConfigValue): string {
  const module = isConfigMap(options) ? options['engine_module'] : undefined;
  return typeof module === 'string' ? module : name;
}
