import { errorText } from '@brine/tasks';
import type { PoolClient, PoolConfig } from 'pg';
import pg from 'pg';

/** `postgres://user:password@a:5432,b:5432/brine?…`: the part before the hosts, they, the rest. */
const SEVERAL = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?#@]*,[^/?#@]*)(.*)$/;
/** A writer needs the primary, so libpq's parameter is removed. */
const SESSION_ATTRS = /([?&])target_session_attrs=[^&]*(?:&|$)/;
/** As libpq judges `target_session_attrs=read-write`: a standby's transactions are read-only. */
const IS_READ_ONLY = 'SHOW transaction_read_only';

/**
 * How a pool finds the primary among the hosts of a URL, as libpq does with `read-write`. Each new
 * connection goes to the host that was last good. If that fails or is a standby, the next
 * connection goes to the next host. A URL with one host is taken as it is.
 */
export function primaryOf(url: string): Pick<PoolConfig, 'connectionString' | 'Client' | 'verify'> {
  const urls = urlsOf(url);
  const [first = url] = urls;
  if (urls.length === 1) return { connectionString: first };
  let at = 0;
  const turnFrom = (index: number): void => {
    // Only the first of several connections that fail at once moves to the next host.
    if (index === at) at = (at + 1) % urls.length;
  };
  const indexes = new WeakMap<object, number>();
  class HostClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: urls[at] ?? first });
      indexes.set(this, at);
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (callback === undefined) return super.connect();
      super.connect((error: Error | null) => {
        if (error) turnFrom(indexes.get(this) ?? at);
        callback(error as Error);
      });
      return undefined;
    }
  }
  const verify = (client: PoolClient, done: (error?: Error) => void): void => {
    client.query<{ transaction_read_only: string }>(IS_READ_ONLY).then(
      ({ rows: [row] }) => {
        if (row?.transaction_read_only !== 'on') return done();
        turnFrom(indexes.get(client) ?? at);
        done(new Error('PostgreSQL: this host is a standby; the next one is asked'));
      },
      (error: unknown) => done(new Error(errorText(error), { cause: error })),
    );
  };
  return { connectionString: first, Client: HostClient, verify };
}

/** Splits a URL with several hosts into one URL for each. */
export function urlsOf(url: string): readonly string[] {
  const several = SEVERAL.exec(url);
  if (several === null) return [url];
  const [, before = '', hosts = '', after = ''] = several;
  const rest = after.replace(SESSION_ATTRS, '$1').replace(/[?&]$/, '');
  return hosts.split(',').map((host) => `${before}${host.trim()}${rest}`);
}
