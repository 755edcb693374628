/** No master is running on this host; `hint` is the log line that Salt writes before. */
export class MasterUnreachableError extends Error {
  readonly hint: string | undefined;

  constructor(hint?: string, options?: ErrorOptions) {
    super('The salt master could not be contacted. Is master running?', options);
    this.name = 'MasterUnreachableError';
    this.hint = hint;
  }
}

/** The master did not answer within the time of every try. */
export class RequestTimeoutError extends Error {
  constructor(options?: ErrorOptions) {
    super(
      'Salt request timed out. The master is not responding. You may need to run your command ' +
        'with `--async` in order to bypass the congested event bus. With `--async`, the CLI tool ' +
        'will print the job id (jid) and exit immediately without listening for responses. You ' +
        'can then use `salt-run jobs.lookup_jid` to look up the results of the job in the job ' +
        'cache later.',
      options,
    );
    this.name = 'RequestTimeoutError';
  }
}

/** The master refused: `AuthenticationError`, `AuthorizationError` or another name it gave. */
export class RefusedError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

/** Errors of a master for a publish or a batch while its streams are unreachable. */
const NOT_NOW = /^The (?:job could not be published|batch could not begin): /;

/** True if the error is temporary: the master, or its job cache, may answer a retry. */
export function isAway(error: unknown): boolean {
  if (error instanceof RequestTimeoutError) return true;
  if (!(error instanceof RefusedError)) return false;
  return error.name === 'SaltReqTimeoutError' || NOT_NOW.test(error.message);
}

/** A node group that is not configured. */
export class NodegroupError extends Error {
  constructor(group: string, configFile: string) {
    super(`Node group ${group} unavailable in ${configFile}`);
    this.name = 'NodegroupError';
  }
}

/** A batch size that is neither a number nor a percentage. */
export class BatchSizeError extends Error {
  constructor(spec: string) {
    super(
      `Invalid batch specification '${spec}': must be an integer or percentage string ` +
        "like '10' or '25%'.",
    );
    this.name = 'BatchSizeError';
  }
}
