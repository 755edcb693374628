import { isOn } from '../options/option.ts';
import { mayTrace, recordCommand, spanTime } from './request-span.ts';
import type { SaltRun } from './salt-run.ts';

/** The root of a job's trace: the command, from its start to the last return shown. */
export interface JobRoot {
  /** The run, whose command tells the master that its root is recorded here. */
  readonly run: SaltRun;
  /** Records it, once, also when the command is interrupted; nothing where no job was published. */
  readonly finish: (jid: string | undefined) => Promise<void>;
}

/** Begins the root of the trace of one command. */
export function beginJobRoot(run: SaltRun, name: string): JobRoot {
  if (!mayTrace(run.config)) return { run, finish: () => Promise.resolve() };
  const startMs = spanTime();
  const { fun } = run.command;
  const attributes = {
    'salt.fun': typeof fun === 'string' ? fun : fun.join(','),
    'brine.async': isOn(run.options, 'async'),
  };
  let finished: Promise<void> | undefined;
  const finish = (jid: string | undefined): Promise<void> => {
    if (jid === undefined) return Promise.resolve();
    return (finished ??= recordCommand(run.config, { name, jid, startMs, attributes }));
  };
  return { run: { ...run, command: { ...run.command, recordsRoot: true } }, finish };
}
