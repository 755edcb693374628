/** Exit code of a process that a second signal ended, as a shell reports SIGINT. */
const EXIT_FORCED = 130;

/**
 * Calls back at the first SIGTERM or SIGINT, or when the supervisor is gone (its IPC channel
 * closes, also if it was killed): no service outlives its supervisor. A second signal ends the
 * process at once. Below a supervisor SIGINT and SIGHUP are left to it. A terminal sends them to
 * the whole group, and the services would stop all at once instead of in order. For a process alone
 * SIGHUP also stops it, or calls `hungUp`.
 */
export function onStopSignal(stop: (why: string) => void, hungUp?: () => void): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(EXIT_FORCED);
    stopping = true;
    stop(signal);
  };
  process.on('SIGTERM', onSignal);
  const ignore = (): void => undefined;
  process.on('SIGHUP', process.connected ? ignore : (hungUp ?? onSignal));
  process.on('SIGINT', process.connected ? ignore : onSignal);
  const onGone = (): void => {
    if (stopping) return;
    stopping = true;
    stop('supervisor gone');
  };
  process.on('disconnect', onGone);
  process.on('message', (message) => {
    if (message !== 'stop' || stopping) return;
    stopping = true;
    stop('supervisor');
  });
  // The supervisor died before this process listened: the channel existed and has closed.
  if (process.send !== undefined && !process.connected) onGone();
}
