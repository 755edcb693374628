import type { SaltMap, SaltValue } from '@brine/wire';

/** A running job of this minion, as `saltutil.find_job` shows it. */
export interface RunningJob {
  readonly jid: string;
  readonly pid: number;
  readonly fun: SaltValue;
  readonly arg: SaltValue[];
  readonly tgt: SaltValue;
  readonly tgtType: string;
  readonly ret: string;
  readonly user: string;
}

/** The minion, as functions about it use it. */
export interface OwnState {
  grains(): SaltMap;
  pillar(): SaltMap;
  jobs(): readonly RunningJob[];
  /** Signals the process of a job; false for an unknown job. */
  signalJob(jid: string, signal: NodeJS.Signals): boolean;
  /** Collects grains again and gets the pillar for them. */
  refresh(): Promise<void>;
}
