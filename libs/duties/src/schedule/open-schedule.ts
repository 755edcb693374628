import { setTimeout as sleep } from 'node:timers/promises';
import { Bucket, type Bus } from '@brine/bus';
import { ReactionQueue } from '@brine/bus/reactions';
import { type ClusterTask, type QueuedWork, QueueWork, type WorkEnd } from '@brine/cluster-work';
import { saltValue } from '@brine/config';
import type { FunctionCall, LocalFunctions, MasterPorts } from '@brine/master';
import type { PythonCalls } from '@brine/python-host';
import { isKnown, type OwnedRuns, refusedBecause, type ScheduleAdmin } from '@brine/runners';
import { readSchedule, type Schedule, type ScheduledJob } from '@brine/schedule';
import type { Metrics, ServiceContext } from '@brine/service';
import { isMap, mapOf, type SaltMap } from '@brine/wire';
import { DueRecords } from './due-records.ts';
import { type DueOutcome, DueWork } from './due-work.ts';
import { LOCAL_ZONE, localZoneName } from './local-zone.ts';
import { SCHEDULE } from './schedule-admin.ts';
import { type ScheduleOutcome, ScheduleOwner } from './schedule-owner.ts';

/** Limit of concurrent scheduled jobs in one process. */
const AT_ONCE = 32;

/** Time that a stopping process waits for them, ms. */
const CLOSE_MS = 5_000;

export interface MasterScheduleParts {
  readonly bus: Bus;
  readonly context: Pick<ServiceContext, 'options' | 'metrics' | 'log' | 'telemetry'>;
  readonly processId: string;
  /** The ports of requests. */
  readonly ports: MasterPorts;
  /** The functions of this process. */
  readonly local: LocalFunctions;
  readonly runs: { of(call: FunctionCall): OwnedRuns };
  readonly admin: ScheduleAdmin;
  /** Modules in Python, if `brine.python` is set. */
  readonly python: PythonCalls | undefined;
}

/** This process's part of the cluster's schedule. */
export interface MasterSchedule {
  /** The cluster task of the schedule; none without a schedule. */
  readonly tasks: readonly ClusterTask[];
  /** Starts to take due jobs out of the queue. */
  start(): void;
  stats(): object;
  /** Takes nothing more; resolves when the running jobs have ended. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the schedule of a process. Without a schedule it does nothing. */
export function openSchedule(parts: MasterScheduleParts): MasterSchedule {
  const { bus, context, ports, local, runs, admin, processId, python } = parts;
  const { options, log, telemetry, metrics } = context;
  const schedule = scheduleOf(options);
  const bucket = new Bucket(bus, 'brine_reactor');
  const records = new DueRecords(bucket);
  const onTrouble = (text: string, err?: unknown): void => log.warn({ err }, text);
  const count = countInto(metrics);
  const kindOf = (fun: string) => kindOfFunction(local, fun);
  let queued: QueueWork | undefined;
  let isLeaving = false;
  const due = new DueWork({
    schedule,
    records,
    processId,
    ports,
    local,
    kindOf,
    count,
    onTrouble,
    runsOf: (call) => runs.of(call),
    handToReturner: python && returnerOf(python),
    spans: telemetry,
    isLeaving: () => isLeaving,
  });
  const owner = (): ScheduleOwner =>
    new ScheduleOwner({
      schedule,
      count,
      onTrouble,
      zone: LOCAL_ZONE,
      zoneName: localZoneName(),
      loopMs: options.loopInterval * 1000,
      queue: new ReactionQueue(bus),
      asked: () => admin.asked(),
      now: () => Date.now(),
    });
  const leave = async (): Promise<void> => {
    isLeaving = true;
    await queued?.leave();
  };
  const isAsked = schedule.jobs.length > 0;
  return {
    tasks: isAsked ? [{ kind: SCHEDULE, name: SCHEDULE, work: (run) => owner().work(run) }] : [],
    start: () => {
      if (!isAsked) return;
      void logFaults(schedule, kindOf, python !== undefined, (text) => log.error(text));
      const work = (one: QueuedWork): Promise<WorkEnd> => due.work(one);
      queued = new QueueWork({ bus, kind: 'due', atOnce: AT_ONCE, work, onTrouble });
    },
    stats: () => ({ jobs: schedule.jobs.length, running: queued?.running ?? 0 }),
    leave,
    close: async () => {
      const left = leave().then(() => queued?.close());
      // Longer work is cut off; another process gets its message.
      await Promise.race([left, sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

/** `schedule:` of the master's configuration. */
function scheduleOf({ schedule }: Pick<ServiceContext['options'], 'schedule'>): Schedule {
  const given = saltValue(schedule);
  return readSchedule(isMap(given) ? given : mapOf({}), new Date().getFullYear());
}

/** The kind of a function: a runner, else a wheel, of the table or of the site. */
async function kindOfFunction(
  local: LocalFunctions,
  fun: string,
): Promise<FunctionCall['kind'] | undefined> {
  for (const kind of ['runner', 'wheel'] as const) {
    if (isKnown(kind, fun)) return kind;
    if (refusedBecause(kind, fun) === undefined && (await local.knows(kind, fun))) return kind;
  }
  return undefined;
}

/** Logs jobs with a missing function or an unusable returner; the start logs other faults. */
async function logFaults(
  { jobs }: Schedule,
  kindOf: (fun: string) => Promise<FunctionCall['kind'] | undefined>,
  hasPython: boolean,
  log: (text: string) => void,
): Promise<void> {
  for (const job of jobs) {
    if ((await kindOf(job.fun)) === undefined) log(`schedule: ${withoutFunction(job)}`);
    if (job.returners.length === 0 || hasPython) continue;
    log(`schedule: ${job.name}: returners run by brine.python, which is not set`);
  }
}

function withoutFunction({ name, fun }: ScheduledJob): string {
  const reason = refusedBecause('runner', fun) ?? refusedBecause('wheel', fun);
  if (reason !== undefined) return `${name} fails: ${reason}`;
  return (
    `${name} fails: '${fun}' is no runner or wheel of this master; ` +
    'functions of minions run by salt.execute or state.orchestrate'
  );
}

function returnerOf(python: PythonCalls) {
  return async (returner: string, load: SaltMap): Promise<void> => {
    await python.call('return', 'returner', mapOf({ returner, load }));
  };
}

function countInto(metrics: Metrics): (outcome: ScheduleOutcome | DueOutcome) => void {
  const counter = metrics.counter(
    'brine_schedule_outcomes_total',
    "What became of due times of the master's schedule, by outcome.",
  );
  return (outcome) => counter.add(1, { outcome });
}
