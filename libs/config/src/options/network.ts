import {
  decimal,
  flag,
  integer,
  literalFlag,
  maybeInteger,
  maybeText,
  oneOf,
  port,
  text,
} from '../kinds.ts';

/** Addresses, ports and socket limits of the master. */
export const networkOptions = {
  interface: text({ default: '0.0.0.0', doc: 'Address that 4505 and 4506 are bound to.' }),
  publish_port: port({ default: 4505, doc: 'Port on which minions receive publications.' }),
  ret_port: port({ default: 4506, doc: 'Port for requests of minions and clients.' }),
  ipv6: literalFlag(true, {
    default: false,
    doc: "Listen on IPv6 too. As in Salt, interface has to be an address of IPv6: `'::'` is both.",
  }),
  ipc_mode: oneOf(['ipc', 'tcp'], { default: 'ipc', doc: 'Kind of the local event sockets.' }),
  zmq_backlog: integer({
    default: 65_535,
    min: 0,
    doc:
      'Connections that may wait to be accepted on 4505 and 4506. net.core.somaxconn of the host ' +
      'is a limit too. Salt: 1000.',
  }),
  pub_hwm: integer({
    default: 1000,
    min: 0,
    unit: 'messages',
    doc: 'Publications that may wait for one slow minion.',
  }),
  zmq_heartbeat_ivl: integer({
    default: 10_000,
    min: 0,
    unit: 'ms',
    doc: 'Time between heartbeats on 4505. They keep idle connections open in balancers. 0: none.',
  }),
  zmq_heartbeat_timeout: integer({
    default: 30_000,
    min: 0,
    unit: 'ms',
    doc: 'Time without an answer to heartbeats after which a connection to 4505 is closed.',
  }),
  zmq_filtering: flag({
    default: false,
    doc: 'Send a publication with a list target only to the minions of the list.',
  }),
  worker_threads: integer({
    default: 5,
    min: 1,
    doc: "Salt's number of workers.",
  }),
  request_server_ttl: integer({
    default: 0,
    min: 0,
    unit: 's',
    doc:
      'Oldest request that is still answered. 0: any age. A repeated write of a minion is ' +
      'recognised for twice this time, or for a day with 0.',
  }),
  max_open_files: integer({
    default: 100_000,
    min: 0,
    doc:
      'Open files to ask the host for; also the most connections of a port. Root may go beyond ' +
      "the host's own limit.",
  }),
  tcp_keepalive: flag({ default: true, doc: 'Probe idle connections on 4505 and 4506.' }),
  tcp_keepalive_idle: decimal({
    default: 300,
    unit: 's',
    doc: 'Idle time before the first probe. 0 and less: two hours, as Linux has it.',
  }),
  tcp_keepalive_cnt: decimal({
    default: -1,
    doc: 'Probes before the connection is lost.',
  }),
  tcp_keepalive_intvl: decimal({
    default: -1,
    unit: 's',
    doc: 'Time between probes.',
  }),
  mworker_niceness: maybeInteger({
    min: -20,
    max: 19,
    doc: 'Niceness of worker-pool.',
  }),
  maintenance_niceness: maybeInteger({
    min: -20,
    max: 19,
    doc: 'Niceness of runner-pool; without it 10: requests come before the work of the master.',
  }),
  req_server_niceness: maybeInteger({
    min: -20,
    max: 19,
    doc: 'Niceness of req-gateway.',
  }),
  mworker_queue_niceness: maybeInteger({
    min: -20,
    max: 19,
    doc: 'Niceness of req-gateway, beside req_server_niceness: they add up.',
  }),
  pub_server_niceness: maybeInteger({
    min: -20,
    max: 19,
    doc: 'Niceness of publisher.',
  }),
  event_publisher_niceness: maybeInteger({
    min: -20,
    max: 19,
    doc: 'Niceness of event-bus.',
  }),
  transport: oneOf(['zeromq'], { default: 'zeromq', doc: 'Transport to the minions.' }),
  master_uri: maybeText({ doc: 'Where clients send requests; built from interface and ret_port.' }),
} as const;
