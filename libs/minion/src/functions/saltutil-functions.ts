import { mapOf, type SaltMap } from '@brine/wire';
import { type FunctionTable, type MinionFunction, textArgument } from './minion-function.ts';
import type { OwnState, RunningJob } from './own-state.ts';

/** The module `saltutil`: the jobs of this minion, and its own data. */
export function saltutilFunctions(own: OwnState): FunctionTable {
  const find = (jid: string): RunningJob | undefined => own.jobs().find((job) => job.jid === jid);
  const signal = (doc: string, name: NodeJS.Signals): MinionFunction => ({
    doc,
    parameters: [{ name: 'jid' }],
    run: (call) => {
      const jid = textArgument(call, 'jid');
      const pid = find(jid)?.pid;
      if (pid === undefined || !own.signalJob(jid, name)) return '';
      return `Signal ${name === 'SIGKILL' ? 9 : 15} sent to job ${jid} at pid ${pid}`;
    },
  });
  const refresh = (doc: string): MinionFunction => ({
    doc,
    takes: 'both',
    run: async () => {
      await own.refresh();
      return true;
    },
  });
  return new Map<string, MinionFunction>([
    [
      'saltutil.find_job',
      {
        doc: 'Return the data for a specific job id that is currently running.',
        parameters: [{ name: 'jid' }],
        run: (call) => describe(find(textArgument(call, 'jid'))),
      },
    ],
    [
      'saltutil.is_running',
      {
        doc: 'If the named function is running return the data associated with it.',
        parameters: [{ name: 'fun' }],
        run: (call) =>
          own
            .jobs()
            .filter((job) => job.fun === textArgument(call, 'fun'))
            .map(describe),
      },
    ],
    [
      'saltutil.running',
      {
        doc: 'Return the data on all running salt jobs on the minion.',
        run: () => own.jobs().map(describe),
      },
    ],
    ['saltutil.kill_job', signal('Sends a kill signal (SIGKILL 9) to the named job.', 'SIGKILL')],
    [
      'saltutil.term_job',
      signal('Sends a termination signal (SIGTERM 15) to the named job.', 'SIGTERM'),
    ],
    ['saltutil.refresh_pillar', refresh('Signal the minion to refresh the in-memory pillar data.')],
    ['saltutil.refresh_grains', refresh('Refresh the grains of the minion.')],
  ]);
}

function describe(job: RunningJob | undefined): SaltMap {
  if (job === undefined) return new Map();
  return mapOf({
    pid: job.pid,
    fun: job.fun,
    arg: job.arg,
    tgt: job.tgt,
    jid: job.jid,
    ret: job.ret,
    tgt_type: job.tgtType,
    user: job.user,
  });
}
