import {
  anything,
  flag,
  integer,
  map,
  maybeText,
  oneOf,
  openingFlag,
  text,
  texts,
} from '../kinds.ts';

/** The event bus and its listeners. */
export const eventOptions = {
  max_event_size: integer({
    default: 1_048_576,
    min: 1,
    unit: 'bytes',
    doc: 'Largest event on the local sockets. Longer values are trimmed.',
  }),
  presence_events: flag({
    default: false,
    doc:
      'Fire salt/presence events every loop_interval, and ask minions whose connections do not ' +
      'show whether they are present.',
  }),
  event_match_type: oneOf(['startswith', 'endswith', 'find', 'regex', 'fnmatch'], {
    default: 'startswith',
    doc: 'How a tag is compared.',
  }),
  fire_event_state: flag({ default: false, doc: 'Older name of state_events.' }),
  state_events: flag({ default: false, doc: 'Fire an event for each state of a run.' }),
  event_return: texts({ default: [], doc: 'Returners that get all events.' }),
  event_return_queue: integer({
    default: 0,
    min: 0,
    doc: 'Events that make one write, at most 10,000. 0: those that are there.',
  }),
  event_return_queue_max_seconds: integer({
    default: 0,
    min: 0,
    unit: 's',
    doc: 'Longest time that an event waits for others of its write. 0: any.',
  }),
  event_return_whitelist: texts({
    default: [],
    doc: 'Tags (globs) that are returned; empty: all.',
  }),
  event_return_blacklist: texts({ default: [], doc: 'Tags (globs) that are not returned.' }),
  reactor: anything({
    default: [],
    doc: 'Tags (globs) and the files that react to them; a text: a file that has this list.',
  }),
  reactor_refresh_interval: integer({
    default: 60,
    unit: 's',
    doc: 'Time that clients of reactions are kept; Brine keeps none.',
  }),
  reactor_worker_threads: integer({
    default: 10,
    min: 1,
    doc: 'At once in each worker: runners and wheels of reactions, and other reactions.',
  }),
  reactor_worker_hwm: integer({
    default: 10_000,
    min: 0,
    doc:
      'Reactions that may wait in the queue of the cluster; further ones are dropped. 0 and the ' +
      'default: as many as find room on disk.',
  }),
  reactor_niceness: anything({
    default: null,
    doc: 'Niceness of the threads that render files of reactions.',
  }),
  engines: anything({
    default: [],
    doc: 'Engines to run: names, and maps of a name with its options.',
  }),
  schedule: map({ default: {}, doc: 'Jobs of the master itself: runners and wheels, by name.' }),
  master_stats: flag({ default: false, doc: 'Fire salt/stats events of each worker.' }),
  master_stats_event_iter: integer({
    default: 60,
    min: 1,
    unit: 's',
    doc: 'Time between two salt/stats events of a worker.',
  }),
  order_masters: openingFlag({
    default: false,
    doc: 'This master has syndics below it. Without it no minion may speak for others.',
  }),
  master_id: maybeText({
    doc: 'Name that goes with each job. A syndic sends returns to the master of that name first.',
  }),
  syndic_wait: integer({ default: 5, unit: 's', doc: "Time for syndics' lists of minions." }),
  syndic_dir: text({ default: 'syndics', doc: 'Set from cachedir.' }),
} as const;
