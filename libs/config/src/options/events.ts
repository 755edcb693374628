import { flag, integer, list, map, maybeText, oneOf, text, texts } from '../kinds.ts';

/** The event bus and what listens to it. */
export const eventOptions = {
  max_event_size: integer({
    default: 1_048_576,
    min: 1,
    unit: 'bytes',
    doc: 'Largest event on the local sockets. Longer values are trimmed.',
  }),
  presence_events: flag({ default: false, doc: 'Fire salt/presence events.' }),
  event_match_type: oneOf(['startswith', 'endswith', 'find', 'regex', 'fnmatch'], {
    default: 'startswith',
    doc: 'How a tag is compared.',
  }),
  fire_event_state: flag({ default: false, doc: 'Older name of state_events.' }),
  state_events: flag({ default: false, doc: 'Fire an event for each state of a run.' }),
  event_return: texts({ default: [], doc: 'Returners that get all events.' }),
  event_return_queue: integer({ default: 0, doc: 'Events in one write.' }),
  event_return_whitelist: texts({ default: [], doc: 'Tags that are written.' }),
  event_return_blacklist: texts({ default: [], doc: 'Tags that are not written.' }),
  reactor: list({ default: [], doc: 'Tags and the files that react to them.' }),
  reactor_refresh_interval: integer({
    default: 60,
    unit: 's',
    doc: 'Time after which the files of reactions are read again.',
  }),
  reactor_worker_threads: integer({ default: 10, doc: 'Reactions at once.' }),
  reactor_worker_hwm: integer({ default: 10_000, doc: 'Reactions that may wait.' }),
  engines: list({ default: [], doc: 'Engines to run.' }),
  schedule: map({ default: {}, doc: 'Jobs of the master itself.' }),
  master_stats: flag({ default: false, doc: 'Fire statistics as events.' }),
  order_masters: flag({
    default: false,
    doc: 'This master has syndics below it. Without it no minion may speak for others.',
  }),
  master_id: maybeText({
    doc: 'Name that goes with each job. A syndic sends returns to the master of that name first.',
  }),
  syndic_wait: integer({ default: 5, unit: 's', doc: "Time for syndics' lists of minions." }),
  syndic_dir: text({ default: 'syndics', doc: 'Set from cachedir.' }),
} as const;
