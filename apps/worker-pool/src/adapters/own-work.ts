import { randomUUID } from 'node:crypto';
import { Bucket, type Bus } from '@brine/bus';
import type { ClusterTask } from '@brine/cluster-work';
import { SecretBox } from '@brine/crypt';
import { type ClusterRuns,ClusterUpkeep, openEngines, openSchedule } from '@brine/duties';
import type { LocalFunctions, MasterPorts } from '@brine/master';
import { sweepTokens } from '@brine/master-state';
import type { PythonCalls } from '@brine/python-host';
import type { ScheduleAdmin } from '@brine/runners';
import type { ServiceContext } from '@brine/service';
import { pack } from '@brine/wire';

/** What the master's own work is made of. */
export interface OwnWorkParts {
  readonly bus: Bus;
  /** The master's private key. */
  readonly pem: string;
  readonly context: ServiceContext;
  readonly workerId: string;
  readonly python: PythonCalls | undefined;
  /** The functions of this process. */
  readonly local: LocalFunctions;
  /** The ports of requests; made after this. */
  readonly ports: () => MasterPorts;
  /** The long work of this worker; made after this. */
  readonly runs: () => ClusterRuns;
}

/** What the master does by itself: its schedule, its engines, its upkeep. */
export interface OwnWork {
  /** What the cluster does in one worker at a time. */
  readonly endless: readonly ClusterTask[];
  readonly schedule: ScheduleAdmin;
  /** Begins to take what is due, once this worker can run it. */
  start(): void;
  status(): object;
  /**
   * Ends the engines here, then hands runs on; what runs of the schedule has its time meanwhile.
   */
  leave(handOver: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Opens the schedule and the engines of a worker. */
export function openOwnWork(parts: OwnWorkParts): OwnWork {
  const { bus, context, workerId, python, ports, local, runs } = parts;
  const schedule = openSchedule({
    ...{ bus, context, workerId, python, ports, local },
    runsOf: (call) => runs().of(call),
    savedOf: (name) => runs().dataOf(name),
  });
  const engines = openEngines({
    ...{ bus, context, ports, local },
    fire: async (tag, data, engine) => {
      const body = pack(data);
      const event = { kind: 'local', tag, body, msgId: randomUUID(), engine } as const;
      const master = ports();
      const append = (): Promise<unknown> => master.events.append(event);
      await master.inShare({ kind: 'engine', id: engine }, body.length, append);
    },
  });
  const upkeep = openUpkeep(parts);
  return {
    endless: [...schedule.tasks, ...engines.tasks, upkeep.task],
    schedule: schedule.admin,
    start: () => schedule.start(),
    status: () => ({
      schedule: schedule.stats(),
      engines: engines.status(),
      upkeep: upkeep.status(),
    }),
    // How far engines have come is stored before their runs are handed on.
    leave: async (handOver) => {
      await Promise.all([engines.leave().then(handOver), schedule.leave()]);
    },
    close: async () => {
      await Promise.all([engines.leave(), schedule.close()]);
    },
  };
}

/** Tokens live for half a day as a rule (Salt: token_expire). */
const TOKENS_EVERY_MS = 3_600_000;

/** What is done again and again, once for all workers. */
function openUpkeep({ bus, pem, context: { log } }: OwnWorkParts): ClusterUpkeep {
  const bucket = new Bucket(bus, 'brine_tokens');
  const box = SecretBox.fromMasterKey(pem, 'token');
  const tokens = async (lost: AbortSignal): Promise<void> => {
    const swept = await sweepTokens(bucket, box, Date.now() / 1_000, lost);
    if (swept > 0) log.debug({ swept }, 'forgot tokens that had expired');
  };
  return new ClusterUpkeep({
    tasks: [{ name: 'tokens', everyMs: TOKENS_EVERY_MS, work: tokens }],
    onTrouble: (text, err) => log.warn({ err }, text),
    now: () => Date.now(),
  });
}
