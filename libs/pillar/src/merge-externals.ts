import { str } from '@brine/jinja';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import type { MinionMessages } from './minion-messages.ts';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { NOT_A_MAP, RaisedError } from './raised.ts';

const MALFORMED = 'The "ext_pillar" option is malformed';

/** The input for merging external pillars. */
export interface Externals {
  readonly ports: PillarPorts;
  readonly options: PillarOptions;
  readonly minion: PillarMinion;
  readonly merge: (first: SaltMap, other: SaltMap) => SaltMap;
  /** Gets each error. */
  readonly errors: string[];
  /** Gets the values that the minion chose, which must not be decrypted. */
  readonly sent: MinionMessages;
}

/** Merges the external pillars (Salt: salt/pillar/__init__.py ext_pillar). */
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
    if (entry.size === 0) throw new RaisedError('StopIteration', '');
    const [first] = entry.keys();
    if (options.excludeExtPillar.includes(str(first))) continue;
    // Of several names in one entry the last counts, as in Salt.
    let found: SaltValue = null;
    for (const [name, args] of entry) found = oneExternal(external, str(name), args, pillar, found);
    if (entry === minion.ext) external.sent.add(found);
    if (isMap(found) && found.size > 0) pillar = merge(pillar, found);
    else if (isTrue(found)) throw new RaisedError('TypeError', NOT_A_MAP);
  }
  return pillar;
}

/**
 * Names of external pillars that a minion asked for and `on_demand_ext_pillar` does not have. If
 * there is one, none of the minion's external pillars is computed (CVE-2025-22237,
 * CVE-2025-22241; Salt: salt/pillar/__init__.py `__valid_on_demand_ext_pillar`).
 */
export function refusedOnDemand(
  { onDemandExtPillar }: Pick<PillarOptions, 'onDemandExtPillar'>,
  { ext }: Pick<PillarMinion, 'ext'>,
): string[] {
  const names = [...(ext?.keys() ?? [])].map((name) => str(name));
  return names.filter((name) => !onDemandExtPillar.includes(name));
}

/** The external pillars that a minion asked for and the master allows. */
function onDemand({ options, minion, ports }: Externals): SaltMap[] {
  if (minion.ext === null) return [];
  const refused = refusedOnDemand(options, minion);
  if (refused.length === 0) return [minion.ext];
  ports.log('error', `ext_pillar not allowed on demand: ${refused.join(', ')}`);
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
    // Salt only logs this and sends the pillar without it: states then run without their data. To
    // allow that, operators set exclude_ext_pillar.
    const how = ports.python === undefined ? '; set brine.python to use that of Salt' : '';
    const text = `Failed to load ext_pillar ${name}: it is not served here${how}`;
    errors.push(text);
    ports.log('critical', text);
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
