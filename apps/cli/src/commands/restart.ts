import { ConfigError, loadMasterConfig } from '@brine/config';
import {
  livingSupervisor,
  readState,
  type RollingState,
  type SupervisorState,
} from '@brine/service';

const EXIT_FAILED = 1;
const POLL_MS = 100;
/** A supervisor begins at once; one that does not is stopped, or is an older release. */
const BEGIN_MS = 10_000;
/** Each service has a minute; there may be dozens of workers. */
const END_MS = 3_600_000;

/**
 * `brine restart`: asks the supervisor of this host to replace its services one by one, tells of
 * each, and resolves with the exit code when all are new or one did not come.
 */
export async function restartServices(configDir: string | undefined): Promise<number> {
  let stateDir: string;
  try {
    ({ stateDir } = loadMasterConfig({ configDir }).options.brine);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return failed(error.message);
  }
  const before = readState(stateDir);
  const pid = livingSupervisor(before);
  if (pid === undefined) return failed('no master runs on this host');
  const number = (before?.rolling?.number ?? 0) + (before?.rolling?.state === 'running' ? 0 : 1);
  process.kill(pid, 'SIGUSR2');
  const startedAt = Date.now();
  let told: string | undefined;
  for (;;) {
    const state = readState(stateDir);
    if (state === undefined || livingSupervisor(state) !== pid) return failed('the master ended');
    const rolling = state.rolling?.number === number ? state.rolling : undefined;
    if (rolling !== undefined && told !== rolling.service) {
      if (told !== undefined) tell(told, state);
      told = rolling.service;
    }
    if (rolling?.state === 'done') return 0;
    if (rolling?.state === 'failed') return failed(reasonOf(rolling));
    const waited = Date.now() - startedAt;
    if (rolling === undefined && waited > BEGIN_MS) return failed('the master does not take it up');
    if (waited > END_MS) return failed('not done within an hour');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function tell(name: string, { services }: SupervisorState): void {
  const service = services.find((one) => one.name === name);
  const leaving = service?.leaving?.length ?? 0;
  const more = leaving > 0 ? `, ${leaving} leaving` : '';
  process.stdout.write(`${name}: pid ${service?.pid ?? '-'}${more}\n`);
}

function reasonOf({ service, error }: RollingState): string {
  return `${service ?? 'a service'} was not replaced: ${error ?? 'see the log'}`;
}

function failed(text: string): number {
  process.stderr.write(`brine restart: ${text}\n`);
  return EXIT_FAILED;
}
