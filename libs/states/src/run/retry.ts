import { isMap, type SaltValue } from '@brine/wire';

/** `retry` of a state; times in seconds. */
export interface Retry {
  readonly until: boolean;
  readonly attempts: number;
  readonly interval: number;
  readonly splay: number;
}

const DEFAULTS: Retry = { until: true, attempts: 2, interval: 30, splay: 0 };

/** An hour, and the attempts of a month then: no state may wait forever. */
const INTERVAL_MAX = 3_600;
const ATTEMPTS_MAX = 1_000;

/** Reads `retry`; invalid values get their default (Salt: State.verify_retry_data). */
export function readRetry(data: SaltValue): Retry {
  if (data === false) return { ...DEFAULTS, attempts: 0 };
  if (!isMap(data)) return DEFAULTS;
  const whole = (key: 'attempts' | 'interval' | 'splay', most: number): number => {
    const value = data.get(key);
    const isWhole = typeof value === 'number' && Number.isInteger(value);
    return Math.min(isWhole ? value : DEFAULTS[key], most);
  };
  const until = data.get('until');
  return {
    until: typeof until === 'boolean' ? until : DEFAULTS.until,
    attempts: whole('attempts', ATTEMPTS_MAX),
    interval: whole('interval', INTERVAL_MAX),
    splay: whole('splay', INTERVAL_MAX),
  };
}

/** The comment of a test run about it. */
export function retryText({ interval, splay, attempts, until }: Retry): string {
  return (
    `The state would be retried every ${interval} seconds (with a splay of up to ${splay} ` +
    `seconds) a maximum of ${attempts} times or until a result of ${until ? 'True' : 'False'} ` +
    'is returned'
  );
}
