/** Parts of a command line by which a process of a master is known; the first counts. */
const NAMES: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
  [/\/apps\/([a-z-]+)\/(?:dist(?:\/joined)?|src)\/main\.[jt]s/, (match) => match[1] ?? 'service'],
  [/\/brine\.mjs master\b/, () => 'supervisor'],
  [/nats-server/, () => 'nats-server'],
  // The programs of PostgreSQL, its children that rename themselves, and the shell around them.
  [/\bpostgres\b/, () => 'postgresql'],
  // Salt names its processes where setproctitle is there: `salt-master MWorker-0 …`.
  [
    /\b(MWorkerQueue|MWorker|EventPublisher|PubServerChannel|Maintenance)\b/,
    (match) => match[1] ?? '',
  ],
  [/\bsalt-master\b/, () => 'salt-master'],
];

/** The service that a process of a master belongs to, by its command line. */
export function serviceOf(commandLine: string): string {
  for (const [pattern, name] of NAMES) {
    const match = pattern.exec(commandLine);
    if (match !== null && name(match) !== 'cli') return name(match);
  }
  return 'other';
}
