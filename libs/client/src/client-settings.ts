import type { LoadSettings } from './command.ts';

/** How a client publishes and waits. Times in milliseconds. */
export interface ClientSettings extends LoadSettings {
  /** `timeout`: how long to wait before the minions are asked whether they still run the job. */
  readonly timeoutMs: number;
  /** `gather_job_timeout`: how long to wait for their answer. */
  readonly gatherJobTimeoutMs: number;
  /** `order_masters`: returns also come through syndics. */
  readonly orderMasters: boolean;
  /** `syndic_wait`: how long to wait for the minion lists of lower masters. */
  readonly syndicWaitMs: number;
  /** `sock_dir`, for the text when no master runs. */
  readonly sockDir: string;
}

/** The options of a master that its clients publish and wait by. Times in seconds. */
export interface ClientOptions {
  readonly confFile: string;
  readonly timeout: number;
  readonly gatherJobTimeout: number;
  readonly orderMasters: boolean;
  readonly syndicWait: number;
  readonly sockDir: string;
  /** Empty: none. */
  readonly extJobCache: string;
}

/** Settings of commands, of the HTTP API and of runs, by the options of the master. */
export function clientSettings(
  options: ClientOptions,
  {
    user,
    nodegroups,
  }: {
    readonly user: string;
    readonly nodegroups: Readonly<Record<string, string | readonly string[]>>;
  },
): ClientSettings {
  const { confFile: configFile, timeout, orderMasters, sockDir, extJobCache } = options;
  return {
    user,
    nodegroups: new Map(Object.entries(nodegroups)),
    configFile,
    timeoutMs: timeout * 1_000,
    gatherJobTimeoutMs: options.gatherJobTimeout * 1_000,
    orderMasters,
    syndicWaitMs: options.syndicWait * 1_000,
    sockDir,
    ...(extJobCache === '' ? {} : { extJobCache }),
    ...(orderMasters ? { orderMastersTimeout: timeout } : {}),
  };
}
