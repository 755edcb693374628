import { type ConfigValue, isConfigMap } from '../option.ts';
import { alike, harmless, ignored, partly, type StandingTable, stops } from '../standing.ts';
import { textsIn } from './names.ts';

const TELEMETRY_OFF = { lost: telemetry };

/** Processes, sockets and times of the master, and output of commands. */
export const processStandings: StandingTable = {
  worker_threads: ignored(5, 'brine.workers sets the number of worker processes'),
  worker_pools: ignored({}, 'Brine has one pool of workers; brine.workers sets its size'),
  worker_pools_enabled: ignored(true, 'Brine has one pool of workers'),
  fileserver_update_niceness: ignored(
    null,
    'services do this work beside their own; mworker_niceness is for the workers',
  ),
  ...alike({ master_async_mworker: false, master_mworker_max_inflight: 0 }, (preset) =>
    ignored(preset, 'Brine limits the requests in hand itself'),
  ),
  ...alike({ publish_drain_timeout: 60, pub_server_write_queue_size: 10_000 }, (preset) =>
    ignored(preset, 'pub_hwm and zmq_heartbeat_timeout bound slow minions'),
  ),
  ...alike({ maintenance_interval: 3600, batch_manager_loop_interval: null }, (preset) =>
    harmless(preset, 'Brine does maintenance when there is something to do'),
  ),
  ipv6: ignored(false, "as in Salt it needs an interface of IPv6; set interface to '::'", {
    lost: (_value, values) =>
      textsIn(values['interface']).some((address) => address.includes(':')) ? [] : undefined,
  }),
  ...alike({ tcp_keepalive_cnt: -1, tcp_keepalive_intvl: -1 }, (preset) =>
    ignored(preset, 'Node sets it itself and lets no program change it'),
  ),
  ipc_mode: stops(
    'ipc',
    'every user of the host could fire events at such ports; stock tools get none there: remove it',
  ),
  ...alike(
    {
      tcp_master_pub_port: 4512,
      tcp_master_publish_pull: 4514,
      tcp_master_pull_port: 4513,
      tcp_master_workers: 4515,
    },
    (preset) => ignored(preset, 'local tools use the sockets in sock_dir'),
  ),
  con_cache: harmless(false, 'connected minions are always known, without a cache'),
  ...alike(
    {
      cache_sreqs: true,
      dummy_pub: false,
      serial: 'msgpack',
      sock_pool_size: 1,
      zmq_monitor: false,
      ipc_write_buffer: 0,
      transport_opts: {},
    },
    (preset) => ignored(preset, 'it sets parts of Salt that Brine does not have'),
  ),
  ...alike(
    {
      http_connect_timeout: 20,
      http_max_body: 107_374_182_400,
      http_request_timeout: 3600,
    },
    (preset) => partly(preset, 'http.query uses it within 16 MiB, 20 s and 300 s; pillars do not'),
  ),
  discovery: ignored(false, 'minions can not discover this master'),
  metrics: ignored({}, 'brine.metrics serves the metrics', TELEMETRY_OFF),
  tracing: ignored({}, 'brine.trace sets what is traced', TELEMETRY_OFF),
  unique_jid: ignored(false, 'job ids are always unique'),
  syndic_forward_all_events: harmless(false, 'all masters above get all events, as in Salt'),
  enable_gpu_grains: ignored(false, 'orchestrations see no grains of GPUs'),
  syndic_dir: ignored(null, 'the syndic-relay keeps its files in cachedir'),
  master_uri: ignored(null, 'clients use interface and ret_port'),
  conf_file: ignored(null, 'the option -c sets it'),
  ...alike(
    {
      resource_index_primary_capacity: null,
      resource_index_primary_slot_size: null,
    },
    (preset) => ignored(preset, "Brine does not have Salt's resources"),
  ),
  ...commandStandings(),
};

/** Options of the master's file that commands read. */
function commandStandings(): StandingTable {
  const ofCommands = true;
  return {
    show_timeout: harmless(true, 'Salt 3008 has no effect of it either'),
    output_file: ignored(null, 'use --out-file', { ofCommands }),
    strip_colors: ignored(null, 'use --no-color, or set color', { ofCommands }),
    publish_timeout: ignored(30, 'a command waits for the option timeout', {
      ofCommands,
    }),
    ...alike(
      {
        color_theme: null,
        skip_grains: false,
      },
      (preset) => ignored(preset, 'the output is as without it', { ofCommands }),
    ),
  };
}

/** Only enabled parts of Salt's telemetry are lost. */
function telemetry(value: ConfigValue): readonly string[] {
  return isConfigMap(value) && value['enabled'] === true ? ['enabled'] : [];
}
