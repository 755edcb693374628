import type { SaltMap, SaltValue } from '@brine/wire';

/** A job that this minion is working on, as `saltutil.find_job` tells it. */
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

/** What functions about the minion itself may ask and do. */
export interface OwnState {
  grains(): SaltMap;
  pillar(): SaltMap;
  jobs(): readonly RunningJob[];
  /** Ends the process of a job; false where there is none. */
  signalJob(jid: string, signal: NodeJS.Signals): boolean;
  /** Collects grains again and gets the pillar for them. */
  refresh(): Promise<void>;
}
