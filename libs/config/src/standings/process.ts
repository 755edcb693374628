import { type ConfigValue, isConfigMap } from '../option.ts';
import { alike, harmless, ignored, partly, type StandingTable } from '../standing.ts';

const TELEMETRY_OFF = { lost: telemetry };

/** Processes, sockets and times of the master, and what commands show. */
export const processStandings: StandingTable = {
  worker_threads: ignored(5, 'brine.workers is the number of worker processes'),
  worker_pools: ignored({}, 'brine.workers is the number of worker processes, of one pool'),
  worker_pools_enabled: ignored(true, 'there is one pool of workers'),
  ...alike(
    {
      event_publisher_niceness: null,
      fileserver_update_niceness: null,
      maintenance_niceness: null,
      mworker_niceness: null,
      mworker_queue_niceness: null,
      pub_server_niceness: null,
      req_server_niceness: null,
    },
    (preset) => ignored(preset, 'the service manager of the host sets priorities'),
  ),
  ...alike(
    { loop_interval: 60, maintenance_interval: 3600, batch_manager_loop_interval: null },
    (preset) => harmless(preset, 'maintenance runs when there is something to do'),
  ),
  ipv6: ignored(false, 'set interface to :: to listen on IPv6'),
  ...alike(
    {
      tcp_keepalive: true,
      tcp_keepalive_idle: 300,
      tcp_keepalive_cnt: -1,
      tcp_keepalive_intvl: -1,
    },
    (preset) => ignored(preset, 'idle connections are probed after 300 s, as by default'),
  ),
  ipc_mode: partly('ipc', 'local tools reach the sockets in sock_dir alone'),
  ...alike(
    {
      tcp_master_pub_port: 4512,
      tcp_master_publish_pull: 4514,
      tcp_master_pull_port: 4513,
      tcp_master_workers: 4515,
    },
    (preset) => ignored(preset, 'local tools reach the sockets in sock_dir alone'),
  ),
  ...alike(
    {
      con_cache: false,
      cache_sreqs: true,
      dummy_pub: false,
      serial: 'msgpack',
      sock_pool_size: 1,
      verify_env: true,
      zmq_monitor: false,
      ipc_write_buffer: 0,
      transport_opts: {},
    },
    (preset) => ignored(preset, 'it rules parts of Salt that are not here'),
  ),
  ...alike(
    {
      http_connect_timeout: 20,
      http_max_body: 107_374_182_400,
      http_request_timeout: 3600,
    },
    (preset) => ignored(preset, 'requests of the master have limits of their own'),
  ),
  discovery: ignored(false, 'minions can not discover this master'),
  metrics: ignored({}, 'brine.metrics serves the metrics', TELEMETRY_OFF),
  tracing: ignored({}, 'brine.trace says what is traced', TELEMETRY_OFF),
  unique_jid: ignored(false, 'job ids are unique without it'),
  syndic_forward_all_events: harmless(false, 'all masters above get all events, as in Salt'),
  enable_gpu_grains: ignored(false, 'the master has no grains'),
  syndic_dir: ignored(null, 'the relay keeps its files in cachedir'),
  master_uri: ignored(null, 'clients use interface and ret_port'),
  conf_file: ignored(null, 'it is the file that -c names'),
  ...alike(
    {
      resource_index_primary_capacity: null,
      resource_index_primary_slot_size: null,
    },
    (preset) => ignored(preset, "Salt's resources are not served"),
  ),
  ...commandStandings(),
};

/** What commands read of the master's file. */
function commandStandings(): StandingTable {
  const ofCommands = true;
  return {
    batch_safe_limit: partly(0, 'targets by grain, pillar or address count as no minions', {
      ofCommands,
    }),
    cli_summary: ignored(false, 'give --summary', { ofCommands }),
    show_jid: ignored(false, 'give --show-jid', { ofCommands }),
    show_timeout: ignored(true, 'give --hide-timeout', { ofCommands }),
    output_file: ignored(null, 'give --out-file', { ofCommands }),
    strip_colors: ignored(null, 'give --no-color, or set color', { ofCommands }),
    publish_timeout: ignored(30, 'timeout is how long a command waits for it', {
      ofCommands,
    }),
    ...alike(
      {
        color_theme: null,
        skip_grains: false,
        state_compress_ids: false,
        state_output_pct: false,
      },
      (preset) => ignored(preset, 'what is shown is as without it', { ofCommands }),
    ),
  };
}

/** Of Salt's telemetry only what is switched on is missed. */
function telemetry(value: ConfigValue): readonly string[] {
  return isConfigMap(value) && value['enabled'] === true ? ['enabled'] : [];
}
