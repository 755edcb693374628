import { mapOf, SaltFloat, type SaltMap } from '@brine/wire';

/** Requests of one process, for `/stats` and metrics. */
export class RequestCounts {
  readonly #startedS = Date.now() / 1_000;
  readonly byStatus = new Map<number, number>();
  current = 0;
  total = 0;
  /** Seconds of all that were answered. */
  #seconds = 0;

  /** A request has come; the returned function is called with the status of its answer. */
  begin(): (status: number) => void {
    const start = performance.now();
    this.current += 1;
    this.total += 1;
    return (status) => {
      this.current -= 1;
      this.#seconds += (performance.now() - start) / 1_000;
      this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    };
  }

  /** The counters that a stock salt-api shows under the same names (cherrypy/lib/cpstats.py). */
  shown(): SaltMap {
    const now = Date.now() / 1_000;
    const uptime = Math.max(now - this.#startedS, 0.001);
    return mapOf({
      'CherryPy Applications': mapOf({
        Enabled: true,
        'Current Time': new SaltFloat(now),
        'Current Requests': this.current,
        'Requests/Second': new SaltFloat(this.total / uptime),
        'Server Version': 'Brine',
        'Start Time': new SaltFloat(this.#startedS),
        'Total Requests': this.total,
        'Total Time': new SaltFloat(this.#seconds),
        Uptime: new SaltFloat(uptime),
      }),
    });
  }
}
