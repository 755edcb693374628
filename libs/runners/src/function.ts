import type { JobRecords, LocalClient } from '@brine/client';
import type {
  FunctionCall,
  FunctionOutcome,
  LocalFunctions,
  MasterPorts,
  MinionBanks,
} from '@brine/master';
import type { CallIdentity } from '@brine/master/functions';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { HostPorts } from './host-ports.ts';
import type { OwnedRun, OwnedRuns } from './owned-run.ts';
import type { ReactorAdmin } from './reactor-admin.ts';
import type { ScheduleAdmin } from './schedule/schedule-admin.ts';

/** Makes the seals of audit rows (libs/crypt audit-seal.ts). */
export interface RowSeal {
  of(
    row: { readonly writer: string; readonly n: number; readonly body: string },
    before: string,
  ): string;
}

/** Receives an event; its data are read on demand. */
export type OnEvent = (tag: string, data: () => Promise<SaltMap>) => void;

/** The context of a function, in a master or at a command line. */
export interface RunnerContext {
  readonly client: LocalClient;
  readonly jobs: JobRecords;
  /** Text for the caller's terminal, before the result. In a master: events `progress`. */
  readonly out: (text: string) => void;
  /** Derived from the master's key; rejects if that key is not readable. */
  readonly auditSeal: () => Promise<RowSeal>;
  /** Events of the host that a command line runs on; absent in a master, which has its own. */
  readonly listen?: (onEvent: OnEvent) => Promise<{ close(): void }>;
  /** The master that the function runs in; absent at a command line. */
  readonly master?: RunnerMaster;
}

/** A call as a function sees it: its caller, and the job id of the run. */
export type { CallIdentity } from '@brine/master/functions';

/** The access of a function to its master, beside the ports of requests. */
export interface RunnerMaster extends MasterPorts, HostPorts {
  readonly call: CallIdentity;
  /** The functions of this process, for calls from this one. */
  readonly local: LocalFunctions;
  /** Limit of nested calls: an orchestration that calls itself ends there. */
  readonly depthMax: number;
  /**
   * An option by Salt's name, with its default; `undefined` for an unknown option. Secrets of
   * Brine's own options are masked.
   */
  option(name: string): SaltValue | undefined;
  /** The whole configuration for callers, with its secrets masked. */
  readonly shownOptions: SaltMap;
  /** Data that minions sent about themselves, and their pillars. */
  readonly banks: MinionBanks;
  /** The site's functions in Python, if the master has some. */
  readonly site?: SiteDocs | undefined;
  /** Makes the pillar's top file for `asked`, or a list of its faults. */
  pillarTop(asked: SaltMap): Promise<SaltValue>;
  /** Fires an event on the bus of the whole cluster; resolves when it is stored. */
  fire(tag: string, data: SaltMap): Promise<void>;
  /**
   * Calls the handler with each event from now on, or from a position on, until closed. `position`:
   * its start.
   */
  listen(
    onEvent: (...event: [...Parameters<OnEvent>, position: string]) => void,
    from?: string,
  ): Promise<{ readonly position: string; close(): void }>;
  /**
   * Calls another function of the table as this caller.
   * @throws InnerCallRefusedError without the right; the errors of that function
   */
  run(fun: string, given: GivenArguments): Promise<Shown>;
  /** Long work that outlives this process. */
  readonly runs: OwnedRuns;
  /** The reactor of the cluster. */
  readonly reactor: ReactorAdmin;
  /** The master's own schedule. */
  readonly schedule: ScheduleAdmin;
}

/**
 * Resumes a run of another process, in the context of the call that began it. The result is for the
 * event `ret` of that call; without a value there is no event. A RunLostError may be passed on,
 * since the next owner then continues.
 */
export type OwnedWork = (
  run: OwnedRun,
  context: RunnerContext,
) => Promise<FunctionOutcome | undefined>;

/** Documentation of the site's functions in Python (`brine.python`). */
export interface SiteDocs {
  /** Documentation by name. */
  docs(kind: FunctionCall['kind']): Promise<SaltMap>;
  /** Reads the names again after modules were synchronised. */
  refresh(): Promise<void>;
}

/** The arguments of a call. */
export interface GivenArguments {
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** Arguments by name, with defaults. `args` and `kwargs` have those without a parameter. */
export interface BoundArguments extends GivenArguments {
  readonly named: ReadonlyMap<string, SaltValue>;
}

/** The result of a function. */
export interface Shown {
  readonly value: SaltValue;
  /** Name of its outputter; the event then has `{'data': …, 'outputter': …}` as in Salt. */
  readonly outputter?: string;
  /** Exit code of `salt-run`; absent: 0. */
  readonly retcode?: number;
  /** Replaces a large value: parts of one map, in the order of its keys. */
  readonly pages?: AsyncIterable<SaltMap>;
}

/** A function that `salt-run`, a request, the reactor or the schedule can call. */
export interface RunnerFunction {
  readonly name: string;
  /** Parameters in their order; those without a default are required. */
  readonly parameters: readonly (readonly [name: string, preset?: SaltValue])[];
  /** Takes further arguments, further keywords, or both (Python: `*args`, `**kwargs`). */
  readonly open?: 'args' | 'kwargs' | 'any';
  readonly doc: string;
  run(given: BoundArguments, context: RunnerContext): Promise<Shown>;
}

/** A wheel function; these run in a master only. */
export type WheelFunction = Omit<RunnerFunction, 'run'> & {
  run(given: BoundArguments, master: RunnerMaster): Promise<SaltValue> | SaltValue;
};

/** The master of a function that needs one. @throws Error at a command line */
export function masterOf({ master }: Pick<RunnerContext, 'master'>): RunnerMaster {
  if (master === undefined) throw new Error('this function runs in the master only');
  return master;
}
