import { isDeepStrictEqual } from 'node:util';
import { type MasterOptions, masterOptions } from '@brine/config';

/** Changed options, by the action that applies them. */
export interface ChangedOptions {
  /** In force at once. */
  readonly now: readonly string[];
  /** Applied by `brine restart`, which replaces the services one by one. */
  readonly restart: readonly string[];
  /** Applied by a stop and start of the master. */
  readonly stop: readonly string[];
}

/** Outputs of the supervisor, which it reopens. */
const NOW: ReadonlySet<string> = new Set([
  ...['logFile', 'syndicLogFile', 'logFmtConsole', 'logFmtLogfile', 'logFmtJid', 'logFmtMinionId'],
  ...['logDatefmt', 'logDatefmtLogfile', 'logRotateMaxBytes', 'logRotateBackupCount'],
  'brine.logFormat',
]);

/** Options of the supervisor itself, or of servers that it has started. */
const STOP: ReadonlySet<string> = new Set([
  ...['user', 'interface', 'publishPort', 'retPort', 'pidfile', 'rootDir', 'cachedir', 'sockDir'],
  ...['verifyEnv', 'maxOpenFiles', 'confFile', 'configDir'],
  ...['brine.workers', 'brine.runners', 'brine.nats', 'brine.postgres'],
  ...['brine.stateDir', 'brine.host'],
  ...['brine.metrics', 'brine.healthHost', 'brine.healthPorts', 'brine.syncInterval'],
  ...['brine.furtherPublishPorts', 'brine.stopDeadline', 'brine.testing'],
]);

/** Options that are derived from others, or reported with them. */
const DERIVED: ReadonlySet<string> = new Set([
  ...['jobMasterId', 'masterId', 'masterKeyName', 'ownPkiDir', 'tokenDir', 'syndicDir', 'written'],
]);

/** The differences in a configuration that was read again, by the names in the file. */
export function changedOptions(before: MasterOptions, after: MasterOptions): ChangedOptions {
  const found = { now: [] as string[], restart: [] as string[], stop: [] as string[] };
  for (const path of differences(before, after)) {
    const when = NOW.has(path) ? 'now' : STOP.has(path) ? 'stop' : 'restart';
    found[when].push(nameOf(path));
  }
  // Options that only modules of the site read.
  const known = new Set(Object.keys(masterOptions));
  const others = namesThatDiffer(before.written, after.written);
  found.restart.push(...others.filter((name) => !known.has(name)));
  return found;
}

function differences(before: MasterOptions, after: MasterOptions): string[] {
  return namesThatDiffer(before, after)
    .filter((name) => !DERIVED.has(name))
    .flatMap((name) =>
      name === 'brine'
        ? namesThatDiffer(before.brine, after.brine).map((own) => `brine.${own}`)
        : [name],
    );
}

function namesThatDiffer(before: object, after: object): string[] {
  const one = before as Readonly<Record<string, unknown>>;
  const other = after as Readonly<Record<string, unknown>>;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => !isDeepStrictEqual(one[name], other[name])).sort();
}

function nameOf(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
