import { CHILD_VARIABLE } from '@brine/environment';
import {
  decimal,
  integer,
  list,
  map,
  maybeText,
  oneOf,
  port,
  text,
  texts,
  variables,
  webAddress,
  webOrigins,
  wordFlag,
} from '../kinds.ts';

/** Scope of tracing, from nothing to everything. */
const TRACE_PROFILES = ['off', 'errors', 'sampled', 'all'] as const;

/** Brine's own options, all below the one key `brine`, which Salt ignores. */
export const brineOptions = {
  nats: {
    url: maybeText({
      env: 'NATS_URL',
      doc: 'NATS servers, joined by commas. Without one `brine master` starts its own.',
    }),
    certificates: text({
      default: '',
      env: 'BRINE_NATS_CERTIFICATES',
      doc:
        'Directory of the certificates that `brine pki init` makes for NATS. Each service reads ' +
        'those below its own name. `<pki_dir>/services` when empty.',
    }),
    plain: wordFlag({
      default: false,
      env: 'BRINE_NATS_PLAIN',
      doc: 'Allow NATS beyond loopback without TLS. Only for a network that is trusted.',
    }),
  },
  postgres: {
    url: maybeText({
      env: 'DATABASE_URL',
      doc:
        'PostgreSQL. Of several hosts (`postgres://…@a,b/brine`) the primary is used. ' +
        'Without one `brine master` starts its own.',
    }),
  },
  workers: integer({
    default: 2,
    min: 1,
    max: 64,
    env: 'BRINE_WORKERS',
    doc: 'Worker processes of `brine master`.',
  }),
  runners: integer({
    default: 1,
    min: 1,
    max: 64,
    env: 'BRINE_RUNNERS',
    doc:
      'Runner processes of `brine master`: they run runners, wheels, batches and engines, react ' +
      'to events and keep the schedule. More of them share this work.',
  }),
  state_dir: text({
    default: '',
    env: 'BRINE_STATE_DIR',
    doc: 'Files of NATS, PostgreSQL and the supervisor. `<cachedir>/brine` when empty.',
  }),
  child_environment: variables({
    default: [],
    env: CHILD_VARIABLE,
    doc:
      'Further variables of the services that programs which they start get, and that templates ' +
      "may read: names, or their beginnings with a `*` (`AWS_*`). Never Brine's own.",
  }),
  eauth: {
    pam_program: text({
      default: 'pamtester',
      doc: 'Program that asks PAM for the login module `pam`.',
    }),
  },
  host: text({
    default: '',
    env: 'BRINE_HOST',
    doc: "Name of this host among the services. The host's own name when empty.",
  }),
  log_format: oneOf(['text', 'json'], {
    default: 'text',
    env: 'BRINE_LOG_FORMAT',
    doc: "Log lines in Salt's form, or as the JSON objects that the services write.",
  }),
  event_framing: oneOf(['auto', 'bare', 'prefixed'], {
    default: 'auto',
    env: 'BRINE_EVENT_FRAMING',
    doc: "Framing of the event socket. `auto` follows the host's Salt, 3006.26 has `prefixed`.",
  }),
  job_deadline: decimal({
    default: 3600,
    min: 1,
    unit: 's',
    doc: 'Time after which a job is closed. Returns after that count as late.',
  }),
  not_after: decimal({
    default: 30,
    min: 1,
    unit: 's',
    doc: 'Oldest publication that is still sent.',
  }),
  accept_ignored: texts({
    default: [],
    doc:
      'Options that a master may ignore, although work or protection is lost without them. ' +
      '`option:part` names a part, as `ext_pillar:mysql`.',
  }),
  durable_functions: map({
    default: {},
    doc: 'Functions (globs) whose jobs are durable, and how long: `state.highstate: 12h`.',
  }),
  max_request_size: integer({
    default: 104_857_600,
    min: 65_536,
    unit: 'bytes',
    doc: 'Largest request and reply.',
  }),
  cacheless_targets: oneOf(['drop', 'keep'], {
    default: 'drop',
    doc: 'Minions without known grains in a grain target: left out (3008) or kept (3007).',
  }),
  syndic: {
    publish_port: port({
      default: 0,
      doc: 'Port for publications of the master above. 0: the port that it names at log-in.',
    }),
    keep: decimal({
      default: 0,
      min: 0,
      unit: 's',
      doc: 'How long returns wait for an unreachable master above. 0: keep_jobs_seconds.',
    }),
  },
  syndics: texts({
    default: ['*'],
    doc: 'Minions (globs) that may be syndics. Needs order_masters.',
  }),
  minion_id_signs: text({
    default: '',
    doc:
      'Signs that ids of new minions may have besides letters, digits and `._:@%+-`, as `~#`. ' +
      'Shells act on the others; an id whose key is accepted may have any.',
  }),
  inner_calls: oneOf(['judged', 'stock'], {
    default: 'judged',
    doc:
      '`judged`: jobs, runners and wheels that a runner begins need rights of its caller. ' +
      '`stock`: the right to that runner is enough, as with a stock master.',
  }),
  minion_events: texts({
    default: [],
    doc:
      'Further tags (globs) below `salt/` that minions may fire: `salt/engines/hook/*`. ' +
      '`{id}` stands for the sender. Start, beacons, progress and state results need no entry.',
  }),
  events_keep: decimal({
    default: 86_400,
    min: 900,
    max: 31_536_000,
    unit: 's',
    doc:
      'How long events and jobs stay in the streams for replay. The oldest go earlier where the ' +
      'streams take more than 40 % of their room (`stream_bytes`).',
  }),
  event_http: {
    url: maybeText({ doc: 'Address that `event_return: http` posts events to.' }),
    headers: map({ default: {}, doc: 'Headers of these requests.' }),
    verify: wordFlag({ default: true, doc: 'Check the certificate of the server.' }),
    ca_bundle: maybeText({ doc: 'Certificates that are trusted. Without it, those of Node.' }),
  },
  minion_banks: oneOf(['auto', 'never', '3006', '3008'], {
    default: 'auto',
    doc:
      'Files with grains, pillars and mine of minions for stock tools of this host, as their ' +
      'release keeps them. `auto` writes them where a Salt is installed. As with a stock master ' +
      'minion_data_cache turns them off, and pillars are in them in plain text, readable by the ' +
      'user of the master alone. 3007 reads those of `3006`.',
  }),
  presence_grace: decimal({
    default: 30,
    min: 15,
    max: 3_600,
    unit: 's',
    doc:
      'Time after which a minion without a connection to 4505 is reported lost. Minions ' +
      'reconnect within 11 s; with a larger recon_max take more than that.',
  }),
  further_publish_ports: list({
    default: [],
    doc:
      'Further ports that send publications. A stock syndic connects to the number of its own ' +
      'publish_port.',
  }),
  ack: oneOf(['stream', 'store'], {
    default: 'stream',
    env: 'BRINE_ACK',
    doc: 'When a return is acknowledged: once the stream has it, or once PostgreSQL committed it.',
  }),
  sync_interval: oneOf(['100ms', '2m', 'always'], {
    default: '100ms',
    env: 'BRINE_SYNC_INTERVAL',
    doc: 'How often the NATS of `brine master` syncs to disk. `always`: before each reply.',
  }),
  stream_bytes: integer({
    default: 0,
    min: 0,
    env: 'BRINE_STREAM_BYTES',
    unit: 'bytes',
    doc: 'Disk for all streams. 0: 8 GiB, halved until NATS has room for it.',
  }),
  stream_replicas: integer({
    default: 1,
    min: 1,
    max: 5,
    env: 'BRINE_STREAM_REPLICAS',
    doc: 'Replicas of each stream. With 3 in a cluster of NATS, one server may be lost.',
  }),
  health_host: text({
    default: '127.0.0.1',
    env: 'BRINE_HEALTH_HOST',
    doc: 'Address of the health endpoints.',
  }),
  health_port: port({
    default: 0,
    env: 'BRINE_HEALTH_PORT',
    doc: 'Port of the health endpoint of a service that is started alone. 0: any free port.',
  }),
  health_ports: map({
    default: {},
    doc: 'Health ports under `brine master`, by service: `req-gateway: 9101`.',
  }),
  metrics: {
    port: port({
      default: 0,
      env: 'BRINE_METRICS_PORT',
      doc: 'Port on which `brine master` serves the metrics of all services of its host. 0: none.',
    }),
    host: text({
      default: '127.0.0.1',
      env: 'BRINE_METRICS_HOST',
      doc: 'Address of that port.',
    }),
    per_minion: oneOf(['auto', 'always', 'never'], {
      default: 'auto',
      env: 'BRINE_METRICS_PER_MINION',
      doc: 'Metrics with a label for each minion. `auto`: up to 500, `always`: up to 5,000.',
    }),
  },
  http: {
    host: text({
      default: '127.0.0.1',
      env: 'BRINE_HTTP_HOST',
      doc: 'Address of the HTTP API.',
    }),
    port: port({
      default: 4507,
      env: 'BRINE_HTTP_PORT',
      doc: 'Port of the HTTP API. `rest_cherrypy` may name another one besides.',
    }),
    origins: texts({
      default: [],
      doc: 'Origins (`https://host`) whose pages may use the HTTP API from a browser.',
    }),
  },
  oidc: {
    issuer: webAddress({
      doc:
        'Provider of OpenID Connect that users of `external_auth: oidc` log in at, written as in ' +
        'its tokens. `https`, or `http` on loopback.',
    }),
    client_id: text({ default: '', doc: 'Name of this master at the provider.' }),
    client_secret: text({
      default: '',
      doc: 'Its secret at the provider; `sdb://profile/key` takes it from a store.',
    }),
    redirect_uri: webAddress({
      end: '/login/oidc/callback',
      doc:
        'Where the provider sends browsers back to, as registered there: the address of the ' +
        'HTTP API as browsers write it, then `/login/oidc/callback`.',
    }),
    name: text({
      default: 'single sign-on',
      doc: 'Name of the provider on the log-in page of the console.',
    }),
    name_claim: text({
      default: 'sub',
      doc:
        'Claim of the ID token with the name of the user. Rights go by it: take one that users ' +
        'can not choose.',
    }),
    groups_claim: text({
      default: 'groups',
      doc: 'Claim of the ID token with the groups of the user. Empty: no groups.',
    }),
    scopes: texts({
      default: ['openid', 'profile'],
      doc: 'Scopes that are asked for. Some providers send groups only with `groups`.',
    }),
    origins: webOrigins({
      default: [],
      doc:
        'Origins (`https://host`) of endpoints of the provider beside that of `issuer`. Requests ' +
        'go to no other one.',
    }),
  },
  http_silent_minions: wordFlag({
    default: true,
    doc:
      'What a call of the client `local` gives for a minion that does not return: a text, as a ' +
      'stock master of 3008, or `false`, as one of 3006. SaltGUI needs `false`.',
  }),
  stop_deadline: decimal({
    default: 10,
    min: 0.1,
    unit: 's',
    env: 'BRINE_STOP_DEADLINE',
    doc: 'Longest time a service takes to stop.',
  }),
  trace: oneOf(TRACE_PROFILES, {
    default: 'sampled',
    env: 'BRINE_TRACE',
    doc:
      'What is traced. `off`: nothing. `errors`: each job, with its failed and slowest returns. ' +
      '`sampled`: the same, the first 100 returns of a job, 1 % of the others, and a share of ' +
      'log-ins, pillars and events. `all`: everything.',
  }),
  trace_publications: wordFlag({
    default: false,
    doc:
      'Send `traceparent` with each job, so that minions of Salt 3008 join its trace. ' +
      'States of the minion can see it.',
  }),
  exit_codes: oneOf(['strict', 'stock'], {
    default: 'strict',
    env: 'BRINE_EXIT_CODES',
    doc:
      'Exit codes of commands where Salt exits with 0 although nothing was done: an error, or 0 ' +
      'as Salt. docs/exit-codes.md lists them.',
  }),
  progress: wordFlag({
    default: true,
    env: 'BRINE_PROGRESS',
    doc: 'While a command waits, show on a terminal how many minions have returned.',
  }),
  python: text({
    default: '',
    doc:
      'Interpreter with Salt, which then runs modules in Python: runners, wheels, external ' +
      'pillars, renderers, `salt[…]` of pillars, master_tops and outputters. Empty: none run.',
  }),
  python_memory: integer({
    default: 1_073_741_824,
    min: 268_435_456,
    unit: 'bytes',
    doc: 'Largest address space of one process of `python`.',
  }),
  python_timeout: decimal({
    default: 3600,
    min: 1,
    max: 604_800,
    unit: 's',
    doc: 'Longest run of a runner or wheel in Python. Parts of pillars have 40 s.',
  }),
  testing: {
    nats_via: maybeText({
      doc: 'Address (`host:port`) of a fault proxy before the NATS of `brine master`.',
    }),
    postgres_via: maybeText({
      doc: 'Address (`host:port`) of a fault proxy before the PostgreSQL of `brine master`.',
    }),
    eauth_auto: wordFlag({
      default: false,
      doc: 'The login module `auto` lets every user in.',
    }),
  },
} as const;
