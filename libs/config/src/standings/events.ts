import { type ConfigMap, type ConfigValue, isConfigMap } from '../option.ts';
import { alike, harmless, ignored, type StandingTable, stops } from '../standing.ts';
import { hasPython, notServed, textsIn } from './names.ts';

/** The options of Salt's returners that Brine reads, by the returner that `event_return` names. */
const RETURNER_OPTIONS = {
  pgjsonb: names('returner.pgjsonb', [
    ...['host', 'user', 'pass', 'db', 'port', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert'],
  ]),
  postgres: names('returner.postgres', ['host', 'user', 'passwd', 'db', 'port']),
  rawfile_json: names('rawfile_json', ['filename']),
  syslog: names('syslog', ['level', 'facility', 'tag', 'options']),
  elasticsearch: names('elasticsearch', [
    ...['host', 'hosts', 'use_ssl', 'ca_certs', 'verify_certs', 'username', 'password', 'timeout'],
    ...['master_event_index', 'index_date', 'number_of_shards', 'number_of_replicas'],
  ]),
} as const;

/** Events, reactions to them, and periodic tasks of the master. */
export const eventStandings: StandingTable = {
  ext_processes: stops(
    [],
    'they do not run, as under no stock master since Python 3: run them as services of the host',
  ),
  event_return: stops(
    '',
    'these returners get no events; brine.python runs those in Python, http needs brine.event_http',
    { lost: lostReturners },
  ),
  event_return_niceness: ignored(null, 'job-cache-returner does this beside its own work'),
  ...returnerOptions(),
  reactor_refresh_interval: harmless(60, 'each reaction uses files and keys as they are then'),
  ...alike(
    {
      thorium_interval: 0.5,
      thorium_roots: { base: ['/srv/thorium'] },
      thorium_top: 'top.sls',
      thoriumenv: null,
    },
    (preset) => ignored(preset, 'it belongs to the engine thorium, which Brine does not have'),
  ),
  fire_event_state: ignored(false, 'use state_events, its new name'),
  event_match_type: ignored('startswith', 'Brine always compares the beginning of a tag'),
  auth_events_pend_autosign_grains: ignored(
    false,
    'Salt does not read it either; use auth_events_autosign_grains',
  ),
  ping_on_rotate: ignored(false, 'minions log in again at their next message, not at once'),
};

/** Returners that Brine lacks, or of which it lacks an option. */
function lostReturners(value: ConfigValue, values: ConfigMap): string[] {
  const names = textsIn(value).filter((name) => name !== '');
  const lost = hasPython(values) ? [] : notServed('event_return', names);
  return names.includes('http') && !hasEventHttp(values) ? [...lost, 'http'] : lost;
}

function hasEventHttp({ brine }: ConfigMap): boolean {
  const http = isConfigMap(brine) ? brine['event_http'] : undefined;
  return isConfigMap(http) && textsIn(http['url']).some((url) => url !== '');
}

function names(returner: string, options: readonly string[]): readonly string[] {
  return [returner, ...options.map((option) => `${returner}.${option}`)];
}

/** Options that are in force if `event_return` names their returner. */
function returnerOptions(): StandingTable {
  const table: Record<string, StandingTable[string]> = {
    'returner.pgjsonb.sslcrl': ignored(null, 'lists of revoked certificates are not read'),
  };
  for (const [returner, options] of Object.entries(RETURNER_OPTIONS)) {
    const lost = (_value: ConfigValue, values: ConfigMap): string[] | undefined =>
      textsIn(values['event_return']).includes(returner) ? [] : undefined;
    for (const option of options) {
      table[option] = ignored(null, `only event_return: ${returner} uses it here`, { lost });
    }
  }
  return table;
}
