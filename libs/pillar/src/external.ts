import { str } from '@brine/jinja';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';

const MALFORMED = 'The "ext_pillar" option is malformed';

/** What the merging of external pillars works with. */
export interface Externals {
  readonly ports: PillarPorts;
  readonly options: PillarOptions;
  readonly minion: PillarMinion;
  readonly merge: (first: SaltMap, other: SaltMap) => SaltMap;
  /** Takes what goes wrong. */
  readonly errors: string[];
}

/** Asks the external pillars, merges what they say (Salt: salt/pillar/__init__.py ext_pillar). */
export function withExternals(external: Externals, start: SaltMap): SaltMap {
  const { options, minion, errors, merge } = external;
  if (!Array.isArray(options.extPillar)) {
    errors.push(MALFORMED);
    return start;
  }
  const entries = [...options.extPillar, ...onDemand(external)];
  let pillar = minion.override.size > 0 ? merge(start, minion.override) : start;
  for (const entry of entries) {
    if (!isMap(entry)) {
      errors.push(MALFORMED);
      return new Map();
    }
    const [first] = entry.keys();
    if (options.excludeExtPillar.includes(str(first))) continue;
    // Of several names in one entry the last counts, as in Salt.
    let found: SaltValue = null;
    for (const [name, args] of entry) found = oneExternal(external, str(name), args, pillar, found);
    if (isMap(found) && found.size > 0) pillar = merge(pillar, found);
    else if (isTrue(found)) throw new TypeError('an external pillar did not return a map');
  }
  return pillar;
}

/** What a minion asked for beside the configuration, where the master lets it. */
function onDemand({ options, minion, ports }: Externals): SaltMap[] {
  const { ext } = minion;
  if (ext === null) return [];
  const refused = [...ext.keys()].filter((name) => !options.onDemandExtPillar.includes(str(name)));
  if (refused.length === 0) return [ext];
  ports.log(
    'error',
    `ext_pillar not allowed on demand: ${refused.map((name) => str(name)).join(', ')}`,
  );
  return [];
}

function oneExternal(
  { ports, minion, errors }: Externals,
  name: string,
  args: SaltValue,
  pillar: SaltMap,
  before: SaltValue,
): SaltValue {
  try {
    const more = ports.external(name, minion, pillar, args);
    if (more !== undefined) return more;
    ports.log('critical', `ext_pillar interface named ${name} is unavailable`);
  } catch (error) {
    const text = `Failed to load ext_pillar ${name}: ${(error as Error).message}`;
    errors.push(text);
    ports.log('error', text);
  }
  return before;
}

function isTrue(value: SaltValue): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return value.size > 0;
  return value !== null && value !== '' && value !== false && value !== 0;
}
