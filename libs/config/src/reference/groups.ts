import type { OptionTable } from '../option.ts';
import { accessOptions } from '../options/access.ts';
import { eventOptions } from '../options/events.ts';
import { fileOptions } from '../options/files.ts';
import { functionOptions } from '../options/functions.ts';
import { gitPillarOptions } from '../options/git-pillar.ts';
import { gitfsOptions } from '../options/gitfs.ts';
import { httpOptions } from '../options/http.ts';
import { jobOptions } from '../options/jobs.ts';
import { keyOptions } from '../options/keys.ts';
import { ldapOptions } from '../options/ldap.ts';
import { loggingOptions } from '../options/logging.ts';
import { mineOptions } from '../options/mine.ts';
import { networkOptions } from '../options/network.ts';
import { pathOptions } from '../options/paths.ts';
import { pillarOptions } from '../options/pillar.ts';
import { stateOptions } from '../options/states.ts';
import { syndicOptions } from '../options/syndic.ts';

/** Options that an operator looks for together. */
export interface GroupPlan {
  readonly title: string;
  /** Options below `brine` in this group. The name of a table includes all options in it. */
  readonly brine: readonly string[];
  /** Options of Salt in this group. */
  readonly salt?: OptionTable;
}

/** The groups of the master's options, in the order in which a new operator needs them. */
export const MASTER_GROUPS: readonly GroupPlan[] = [
  {
    title: 'Start a master: servers, workers, hosts',
    brine: [
      'nats',
      'postgres',
      'workers',
      'runners',
      'host',
      'state_dir',
      'stop_deadline',
      'child_environment',
      'accept_ignored',
    ],
  },
  { title: 'Place files and directories', salt: pathOptions, brine: [] },
  {
    title: 'Reach minions: addresses, ports, connections',
    salt: networkOptions,
    brine: ['max_request_size', 'presence_grace'],
  },
  {
    title: 'Let minions in: keys and signatures',
    salt: keyOptions,
    brine: ['minion_id_signs'],
  },
  {
    title: 'Run jobs, keep them, show them',
    salt: jobOptions,
    brine: ['job_deadline', 'not_after', 'cacheless_targets', 'exit_codes', 'progress'],
  },
  {
    title: 'Choose what survives a crash',
    brine: ['ack', 'sync_interval', 'durable_functions', 'stream_bytes', 'stream_replicas'],
  },
  { title: 'Say who may run what', salt: accessOptions, brine: ['eauth', 'inner_calls', 'oidc'] },
  { title: 'Log in through LDAP', salt: ldapOptions, brine: [] },
  { title: 'Serve the HTTP API', salt: httpOptions, brine: ['http', 'http_silent_minions'] },
  {
    title: 'Events',
    salt: eventOptions,
    brine: ['minion_events', 'event_framing', 'events_keep', 'event_http', 'minion_banks'],
  },
  {
    title: 'Masters above and below: syndics',
    salt: syndicOptions,
    brine: ['syndic', 'syndics', 'further_publish_ports'],
  },
  { title: 'Serve files', salt: fileOptions, brine: [] },
  { title: 'Serve files from git', salt: gitfsOptions, brine: [] },
  { title: 'The mine', salt: mineOptions, brine: [] },
  { title: 'Pillars', salt: pillarOptions, brine: [] },
  {
    title: 'Run modules in Python',
    brine: ['python', 'python_memory', 'python_timeout'],
  },
  { title: 'Pillars from git and PostgreSQL', salt: gitPillarOptions, brine: [] },
  { title: 'States and Jinja', salt: stateOptions, brine: [] },
  { title: 'Runners and orchestrations', salt: functionOptions, brine: [] },
  {
    title: 'See what happens: logs, metrics, health, traces',
    salt: loggingOptions,
    brine: [
      'log_format',
      'metrics',
      'health_host',
      'health_port',
      'health_ports',
      'trace',
      'trace_publications',
    ],
  },
  { title: 'Test Brine itself: never on a real master', brine: ['testing'] },
];
