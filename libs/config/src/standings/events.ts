import { alike, ignored, type StandingTable, stops } from '../standing.ts';

const NOT_BUILT = 'not built yet';

/** Events, what reacts to them, and what the master does by itself. */
export const eventStandings: StandingTable = {
  reactor: stops([], `no reaction runs, ${NOT_BUILT}`),
  schedule: stops({}, `no job of the master's own schedule runs, ${NOT_BUILT}`),
  engines: stops([], `no engine runs, ${NOT_BUILT}`),
  ext_processes: stops([], 'Brine does not start these; run them as services of the host'),
  event_return: stops('', `no returner gets events, ${NOT_BUILT}`),
  ...alike(
    {
      event_return_queue: 0,
      event_return_queue_max_seconds: 0,
      event_return_whitelist: [],
      event_return_blacklist: [],
      event_return_niceness: null,
    },
    (preset) => ignored(preset, 'it belongs to event_return, which is not built yet'),
  ),
  ...alike(
    {
      reactor_refresh_interval: 60,
      reactor_worker_threads: 10,
      reactor_worker_hwm: 10_000,
      reactor_niceness: null,
    },
    (preset) => ignored(preset, 'it belongs to reactor, which is not built yet'),
  ),
  ...alike(
    {
      thorium_interval: 0.5,
      thorium_roots: { base: ['/srv/thorium'] },
      thorium_top: 'top.sls',
      thoriumenv: null,
    },
    (preset) => ignored(preset, 'it belongs to the engine thorium, which Brine does not have'),
  ),
  presence_events: ignored(false, `Brine fires no salt/presence events, ${NOT_BUILT}`),
  fire_event_state: ignored(false, 'use state_events, its new name'),
  event_match_type: ignored('startswith', 'Brine always compares the beginning of a tag'),
  master_stats: ignored(false, 'Brine fires no salt/stats events; see brine.metrics'),
  master_stats_event_iter: ignored(60, 'it belongs to master_stats, which Brine does not have'),
  auth_events_pend_autosign_grains: ignored(
    false,
    'Salt does not read it either; use auth_events_autosign_grains',
  ),
  fileserver_events: ignored(false, 'Brine fires no salt/fileserver events'),
  ping_on_rotate: ignored(false, 'minions log in again at their next message, not at once'),
};
