import type { RunDetail } from '@brine/api/runs';

/** What a check of the seals came to. */
export interface Seals {
  readonly isIntact: boolean;
  readonly text: string;
}

/** Reads the result of `audit.verify`. A check that failed is none that found all intact. */
export function sealsOf({ success, result }: RunDetail): Seals {
  const { intact, rows, writers, faults } = (isRecord(result) ? result : {}) as Record<
    string,
    unknown
  >;
  if (success !== true || typeof intact !== 'boolean') {
    const why = typeof result === 'string' ? result : JSON.stringify(result ?? null, null, 2);
    return { isIntact: false, text: `The check failed.\n${why}` };
  }
  const lines = Array.isArray(faults) ? faults.map(String) : [];
  const number = new Intl.NumberFormat('en');
  const all = `${number.format(Number(rows))} rows of ${number.format(Number(writers))} writers`;
  return {
    isIntact: intact,
    text: intact ? `${all}: all seals are intact.` : [`${all}.`, ...lines].join('\n'),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
