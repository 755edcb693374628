import pg from 'pg';

/** Differences between two masters of a tree in the jobs of the upper one. */
export interface Comparison {
  /** Jobs of clients above; and those that never arrived below. */
  readonly jobs: number;
  readonly neverBelow: number;
  /** Returns counted below to these jobs, and above. */
  readonly below: number;
  readonly above: number;
  /** Pairs that only one master counts, or that differ in their state. */
  readonly differences: readonly string[];
}

interface Row {
  readonly jid: string;
  /** Minions that returned, each as `<id>` or `<id> failed`; sorted. */
  readonly returned: readonly string[];
  readonly targeted: readonly string[];
}

/** Jobs of clients with their counts, without find_job. */
const JOBS = `
SELECT j.jid, ARRAY(SELECT DISTINCT minion COLLATE "C" FROM unnest(j.minions) AS minion
    ORDER BY 1) AS targeted,
  ARRAY(SELECT r.id || CASE WHEN r.failed THEN ' failed' ELSE '' END
    FROM brine.returns r WHERE r.jid = j.jid ORDER BY 1) AS returned
FROM brine.jobs j WHERE j.origin = 0 AND NOT j.hidden ORDER BY j.jid`;

const MAX_DIFFERENCES = 100;

/** Compares both databases. Throws as pg does. */
export async function compareLedgers(aboveUrl: string, belowUrl: string): Promise<Comparison> {
  const above = await rowsOf(aboveUrl);
  const below = new Map((await rowsOf(belowUrl)).map((row) => [row.jid, row]));
  const differences: string[] = [];
  const sums = { neverBelow: 0, below: 0, above: 0 };
  for (const { jid, returned, targeted } of above) {
    const lower = below.get(jid);
    below.delete(jid);
    if (lower === undefined) sums.neverBelow += 1;
    sums.below += lower?.returned.length ?? 0;
    sums.above += returned.length;
    differences.push(
      ...difference(`${jid} returned`, returned, lower?.returned ?? []),
      ...difference(`${jid} targeted`, targeted, lower?.targeted ?? []),
    );
  }
  for (const jid of below.keys()) differences.push(`${jid}: a job below, and none above`);
  const { length: jobs } = above;
  return { jobs, ...sums, differences: differences.slice(0, MAX_DIFFERENCES) };
}

async function rowsOf(url: string): Promise<readonly Row[]> {
  const client = new pg.Client({
    connectionString: url,
    options: '-c default_transaction_read_only=on',
    application_name: 'chaos',
  });
  await client.connect();
  try {
    return (await client.query<Row>(JOBS)).rows;
  } finally {
    await client.end();
  }
}

function difference(what: string, above: readonly string[], below: readonly string[]): string[] {
  const lacks = (these: readonly string[], others: readonly string[]): string[] => {
    const known = new Set(others);
    return these.filter((one) => !known.has(one));
  };
  const output = (where: string, ids: readonly string[]): string[] =>
    ids.length === 0 ? [] : [`${what}: ${where} only: ${ids.slice(0, 5).join(', ')}`];
  return [...output('below', lacks(below, above)), ...output('above', lacks(above, below))];
}
