import type { ClientSettings } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import type { Trace } from '@brine/telemetry';
import type { EventScope } from './api/api-master.ts';
import type { LocalMaster } from './local-master.ts';

/** `--api` or `BRINE_API`: the command works on a master elsewhere. */
export interface ApiOption {
  /** The address; undefined: the one that the choice of `choose-api.ts` finds. */
  readonly url: string | undefined;
  /** True for `--api` itself, which a command can not pass over. */
  readonly isAsked: boolean;
}

/** Exit codes of a command that finds no master behind an API. */
export interface ApiCodes {
  /** The log-in, or its session, is refused. */
  readonly refused: number;
  readonly unreachable: number;
}

/** How a master is opened. */
export interface OpenMaster extends Partial<
  Pick<ClientSettings, 'timeoutMs' | 'gatherJobTimeoutMs' | 'traceparent'>
> {
  /** Which events a client behind an API gets; default its own. */
  readonly events?: EventScope;
}

/** A master that is reached through its HTTP API. */
export interface MasterBehindApi {
  /** True if its caller may read each job, each event and the job cache. */
  readonly readsAll: boolean;
  readTrace(jid: string): Promise<Trace>;
}

/** The master that a command works on: of this host, or behind an API. */
export interface MasterPlace {
  readonly config: MasterOptions;
  /** Undefined for the master of this host. */
  readonly api: MasterBehindApi | undefined;
  /** Connects a client. */
  open(how?: OpenMaster): LocalMaster;
  /** The same for a command that examines a master which may be down. */
  look(timeoutMs: number): LocalMaster;
}
