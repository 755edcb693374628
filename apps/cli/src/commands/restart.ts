import { setTimeout as sleep } from 'node:timers/promises';
import { supervisorState } from '@brine/master-host';
import {
  isOfOwner,
  livingSupervisor,
  type RollingState,
  stateFile,
  type SupervisorState,
} from '@brine/service/processes';
import { EXIT, Exit } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

const POLL_MS = 100;
/** A supervisor that does not begin within this is stopped, or is an older release. */
const BEGIN_MS = 10_000;
/** Each service may take a minute, and there may be dozens of workers. */
const END_MS = 3_600_000;

/**
 * `brine restart`: asks the supervisor of this host to replace its services one by one, names each,
 * and ends when all are new or one of them did not start.
 */
export async function runRestart(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(
    brineForm(
      'restart',
      'Replaces the services of the master on this host one by one. Each stops only after its\n' +
        'successor serves, so no command and no return is lost. Exit code 0 when all are new.',
    ),
  );
  const options = readMasterConfig(parser.parse(args), terminal);
  const { stateDir } = options.brine;
  const before = supervisorState(options);
  const pid = livingSupervisor(before);
  if (pid === undefined) throw failed('no master runs on this host');
  if (!isOfOwner(stateFile(stateDir), pid)) {
    throw failed(`${stateFile(stateDir)} names process ${pid}, which is another user's`);
  }
  const number = (before?.rolling?.number ?? 0) + (before?.rolling?.state === 'running' ? 0 : 1);
  process.kill(pid, 'SIGUSR2');
  const startedAt = Date.now();
  let shown: string | undefined;
  for (;;) {
    const state = supervisorState(options);
    if (state === undefined || livingSupervisor(state) !== pid) throw failed('the master ended');
    const rolling = state.rolling?.number === number ? state.rolling : undefined;
    if (rolling !== undefined && shown !== rolling.service) {
      if (shown !== undefined) terminal.out(lineOf(shown, state));
      shown = rolling.service;
    }
    if (rolling?.state === 'done') return EXIT.ok;
    if (rolling?.state === 'failed') throw failed(reasonOf(rolling));
    const waited = Date.now() - startedAt;
    if (rolling === undefined && waited > BEGIN_MS) throw failed('the master does not begin');
    if (waited > END_MS) throw failed('not done within an hour');
    await sleep(POLL_MS);
  }
}

function lineOf(name: string, { services }: SupervisorState): string {
  const service = services.find((one) => one.name === name);
  const leaving = service?.leaving?.length ?? 0;
  const more = leaving > 0 ? `, ${leaving} leaving` : '';
  return `${name}: pid ${service?.pid ?? '-'}${more}\n`;
}

function reasonOf({ service, error }: RollingState): string {
  return `${service ?? 'a service'} was not replaced: ${error ?? 'see the log'}`;
}

function failed(text: string): Exit {
  return new Exit(EXIT.generic, `brine restart: ${text}\n`);
}
