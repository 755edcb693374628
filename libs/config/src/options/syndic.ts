import { decimal, flag, integer, oneOf, port, text, texts } from '../kinds.ts';

/** The relay to a master above, under the names that a stock salt-syndic reads. */
export const syndicOptions = {
  syndic_master: texts({
    default: ['masterofmasters'],
    doc: 'The master above this one, or a list; `host:port` names a port.',
  }),
  syndic_master_port: port({ default: 4506, doc: 'Port of the master above.' }),
  syndic_mode: oneOf(['sync', 'cluster'], {
    default: 'sync',
    doc: 'Data for the master above: all events, or jobs and returns requested there.',
  }),
  syndic_failover: oneOf(['random', 'ordered'], {
    default: 'random',
    doc: 'Which of several masters above is tried first with what none of them asked for.',
  }),
  syndic_retries: integer({
    default: 3,
    min: 1,
    max: 100,
    doc: 'Rounds over several masters above before a pause.',
  }),
  syndic_forward_all_events: flag({
    default: false,
    doc: 'Without effect, as in Salt 3008.2: all masters above get all events.',
  }),
  syndic_event_forward_timeout: decimal({
    default: 0.5,
    min: 0.01,
    max: 60,
    unit: 's',
    doc: 'Least time between two groups of events that go up.',
  }),
  syndic_jid_forward_cache_hwm: integer({
    default: 100,
    min: 1,
    max: 100_000,
    doc: 'Jobs whose load the master above is known to have.',
  }),
  syndic_finger: text({ default: '', doc: "Fingerprint of the master's key above." }),
  syndic_user: text({ default: '', doc: 'Whose local key publishes; `user` when empty.' }),
  syndic_pidfile: text({
    default: '/var/run/salt-syndic.pid',
    underRoot: true,
    doc: 'File with the process id of the relay, if a master above is set.',
  }),
  syndic_log_file: text({
    default: '',
    underRoot: true,
    doc: 'Log file of the relay; with the others in log_file when empty.',
  }),
} as const;
