import { flag, maybeText, text } from '../kinds.ts';

/** Files and directories of the master. Relative ones are below `root_dir`. */
export const pathOptions = {
  root_dir: text({
    default: '/',
    doc: 'Directory that all other paths of these options are below.',
  }),
  verify_env: flag({
    default: true,
    doc: 'Make directories at the start, with the owner and the modes that Salt gives them.',
  }),
  pki_dir: text({
    default: '/etc/salt/pki/master',
    underRoot: true,
    doc: "The master's keys and the minions' public keys.",
  }),
  cachedir: text({
    default: '/var/cache/salt/master',
    underRoot: true,
    doc: 'Job files, user keys, minion data and other state of the master.',
  }),
  sock_dir: text({
    default: '/var/run/salt/master',
    underRoot: true,
    doc: 'The event sockets of local tools.',
  }),
  pidfile: text({
    default: '/var/run/salt-master.pid',
    underRoot: true,
    doc: 'File with the process id of the master.',
  }),
  log_file: text({
    default: '/var/log/salt/master',
    underRoot: true,
    doc:
      'Log file, or a syslog: `file:///dev/log/LOG_DAEMON`, `udp://host:514/LOG_USER`, ' +
      '`tcp://host:514`. The facility is LOG_USER unless named.',
  }),
  key_logfile: text({
    default: '/var/log/salt/key',
    underRoot: true,
    doc: 'Log of salt-key.',
  }),
  extension_modules: text({
    default: '/var/cache/salt/master/extmods',
    underRoot: true,
    doc: 'Directory of synchronised modules.',
  }),
  autosign_file: maybeText({
    underRoot: true,
    doc: 'File of ids, globs and expressions whose keys are accepted at once.',
  }),
  autoreject_file: maybeText({
    underRoot: true,
    doc: 'File of ids, globs and expressions whose keys are rejected at once.',
  }),
  autosign_grains_dir: maybeText({
    underRoot: true,
    doc: 'Directory of grain values whose minions are accepted at once.',
  }),
  sqlite_queue_dir: text({
    default: '/var/cache/salt/master/queues',
    underRoot: true,
    doc: 'Queues of the sqlite queue module.',
  }),
} as const;
