import { setTimeout as wait } from 'node:timers/promises';
import type { MasterOptions, MinionOptions } from '@brine/config';
import { loadMinionConfig } from '@brine/config';
import type { KeyPair } from '@brine/pki';
import { MinionKeyFiles } from '@brine/pki';
import { tokenOf } from '@brine/syndic';
import type { Log } from '@brine/tasks';
import type { PublishedJob } from '@brine/wire/load';
import { masterAddress, MasterLink } from '@brine/zmq';
import { UpperLink } from './upper-link.ts';

/** Salt's default, which stands for no master (salt/config DEFAULT_MASTER_OPTS). */
const UNSET: ReadonlySet<string> = new Set(['', 'masterofmasters']);

/** More masters above than this are a mistake in the configuration. */
const MASTERS_MAX = 16;

/** The masters above from the configuration, each once. */
export function namedMasters(options: Pick<MasterOptions, 'syndicMaster'>): readonly string[] {
  const names = new Set(options.syndicMaster.filter((name) => !UNSET.has(name)));
  if (names.size > MASTERS_MAX) throw new Error(`syndic_master names more than ${MASTERS_MAX}`);
  return [...names];
}

/** A master above with its connections. */
export interface MasterAboveLink {
  readonly link: UpperLink;
  /** Part of ids of requests and names of consumers. From the address, so relays agree on it. */
  readonly token: string;
  close(): Promise<void>;
}

/** The identity above: id and keys of the minion configuration, as for salt-syndic. */
export interface Syndic {
  readonly options: MinionOptions;
  readonly pair: KeyPair;
}

/** Reads the minion configuration beside the master's, and its keys. */
export async function loadSyndic(
  configDir: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Syndic> {
  const { options } = loadMinionConfig({ configDir, env });
  return { options, pair: await new MinionKeyFiles(options.pkiDir).loadOrCreate(options.keysize) };
}

/** The settings that all links share. */
export interface LinkSettings {
  readonly options: MasterOptions;
  readonly syndic: Syndic;
  readonly log: Log;
  readonly onJob: (job: PublishedJob, token: string) => void;
}

/** Makes the link to one master above; `run` connects it. */
export function linkTo(name: string, alone: boolean, settings: LinkSettings): MasterAboveLink {
  const { options, syndic, log, onJob } = settings;
  const { host, port } = masterAddress(name, options.syndicMasterPort);
  const token = tokenOf(`${host}:${port}`);
  const master = new MasterLink({
    host,
    port,
    reconnectMs: syndic.options.reconDefault,
    reconnectMaxMs: syndic.options.reconMax,
    reconnectRandomize: syndic.options.reconRandomize,
  });
  const link = new UpperLink({
    name,
    options: syndic.options,
    finger: options.syndicFinger,
    publishPort: options.brine.syndic.publishPort,
    key: syndic.pair.privateKey,
    masterKeyFile: new MinionKeyFiles(syndic.options.pkiDir, keyFileName(host, port, alone)),
    master,
    clock: {
      nowMs: () => Date.now(),
      random: Math.random,
      sleep: (ms, signal) => wait(ms, undefined, { signal }),
    },
    log,
    onJob: (job) => onJob(job, token),
  });
  return { link, token, close: () => master.close() };
}

/** A stock syndic has one file and so one key for all masters above; here each may have its own. */
function keyFileName(host: string, port: number, alone: boolean): string {
  return alone ? 'syndic_master' : `syndic_master_${host.replace(/[^A-Za-z0-9.-]/g, '_')}_${port}`;
}
