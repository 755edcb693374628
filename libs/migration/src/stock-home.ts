/** The options of a stock master that set where it stores data. */
export interface StockOptions {
  /** Options of its files, by Salt's names. */
  readonly written: Readonly<Record<string, unknown>>;
}

/** True if it belongs to a cluster of masters that share their keys. */
function isOfCluster({ written }: StockOptions): boolean {
  const id = written['cluster_id'];
  return typeof id === 'string' && id !== '';
}

/** The reason why a stock master's state is not in its files; undefined if it is. */
export function unreadable({ written }: StockOptions): string | undefined {
  const driver = written['keys.cache_driver'];
  if (typeof driver === 'string' && driver !== 'localfs_key') {
    return (
      `its minion keys are in ${driver}, not in files: bring them into files first, with ` +
      '`salt-run` of that master, and set keys.cache_driver: localfs_key'
    );
  }
  if (written['cluster_isolated_filesystem'] === true) {
    return (
      'cluster_isolated_filesystem is set: the files of this host may be behind those of its ' +
      'peers; share cluster_pki_dir first'
    );
  }
  return undefined;
}

/** State that can not be read from files, one line each, with the remedy. */
export function notInFiles({ written }: StockOptions): readonly string[] {
  const notes: string[] = [];
  const other = (name: string, ...usual: readonly string[]): string | undefined => {
    const value = written[name];
    return typeof value === 'string' && value !== '' && !usual.includes(value) ? value : undefined;
  };
  const cache = other('cache', 'localfs');
  if (cache !== undefined) {
    notes.push(
      `Data of minions are in ${cache} and are not moved: run salt '*' saltutil.refresh_pillar`,
    );
  }
  const tokens = other('eauth_tokens', 'localfs') ?? other('eauth_tokens.cache_driver', 'localfs');
  if (tokens !== undefined) {
    notes.push(`Tokens are in ${tokens} and are not moved: users log in again`);
  }
  const jobs = other('master_job_cache', 'local_cache', 'pgjsonb');
  if (jobs !== undefined) {
    notes.push(`Jobs are in ${jobs} and are not moved: look at old jobs there`);
  }
  if (isOfCluster({ written })) {
    notes.push(
      'It is of a cluster: stop its peers too before the ports are handed over; ' +
        "Brine's hosts share NATS instead",
    );
  }
  return notes;
}
