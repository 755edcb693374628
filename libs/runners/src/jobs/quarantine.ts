import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { type BoundArguments, type RunnerFunction } from '../function.ts';

const LIST_DEFAULT = 50;

/** Conditions on rows. */
const FILTERS = [
  ['kind', null],
  ['jid', null],
  ['id', null],
  ['state', null],
] as const;

const list: RunnerFunction = {
  name: 'jobs.quarantine',
  parameters: [['limit', LIST_DEFAULT], ...FILTERS],
  doc:
    'Shows what the job cache was refused by PostgreSQL, the newest first, with the reason. kind ' +
    '(job, return, seen, durable, stray), jid, id (of the minion) and state (an SQLSTATE or how ' +
    'it begins) narrow it.',
  async run(given, { jobs }) {
    const limit = given.named.get('limit');
    const question = filterOf(given).set('limit', typeof limit === 'number' ? limit : LIST_DEFAULT);
    const { total, rows } = await jobs.quarantine(question);
    return { value: mapOf({ Total: total, Rows: rows.map(shownRow) }) };
  },
};

const retry: RunnerFunction = {
  name: 'jobs.quarantine_retry',
  parameters: [['rows', null], ...FILTERS],
  doc:
    'Tries rows in quarantine again, as if they had just come: a number, numbers with commas, or ' +
    'all. What is stored then leaves the quarantine, the rest stays with its new reason.',
  async run(given, { jobs }) {
    const { stored, refused } = await jobs.retryQuarantined(chosen(given));
    return { value: mapOf({ Stored: stored, Refused: refused }) };
  },
};

const drop: RunnerFunction = {
  name: 'jobs.quarantine_drop',
  parameters: [['rows', null], ...FILTERS],
  doc: 'Drops rows in quarantine for good: a number, numbers with commas, or all.',
  run: async (given, { jobs }) => ({
    value: mapOf({ Dropped: await jobs.dropQuarantined(chosen(given)) }),
  }),
};

function filterOf({ named }: BoundArguments): SaltMap {
  const given = FILTERS.map(([name]) => [name, named.get(name) ?? null] as const);
  return new Map(given.flatMap(([name, value]) => (value === null ? [] : [[name, pyStr(value)]])));
}

/** Selects rows by number, all, or by a filter. Without any of these it selects none. */
function chosen(given: BoundArguments): SaltMap {
  const filter = filterOf(given);
  const rows = given.named.get('rows') ?? null;
  if (rows === null) {
    if (filter.size === 0) throw new Error('say which rows: numbers, all, or a filter');
    return filter;
  }
  if (rows === 'all') return filter.set('all', true);
  const texts = Array.isArray(rows) ? rows.map(pyStr) : pyStr(rows).split(',');
  const numbers = texts.map((text) => (/^ *\d+ *$/.test(text) ? Number(text) : NaN));
  if (numbers.some((one) => !Number.isSafeInteger(one))) {
    throw new Error(`no numbers of rows: ${pyStr(rows)}`);
  }
  return filter.set('numbers', numbers);
}

function shownRow(row: SaltMap): SaltMap {
  const time = (name: string): SaltValue => {
    const value = row.get(name);
    return typeof value === 'number' ? new Date(value).toISOString() : null;
  };
  return mapOf({
    Row: row.get('number') ?? null,
    Kind: row.get('kind') ?? null,
    JID: textOf(row, 'jid') ?? '',
    Minion: textOf(row, 'id') ?? '',
    SQLSTATE: textOf(row, 'state') ?? '',
    Reason: textOf(row, 'reason') ?? '',
    Subject: textOf(row, 'subject') ?? '',
    Position: row.get('seq') ?? null,
    Bytes: row.get('size') ?? null,
    Came: time('storedMs'),
    'Put away': time('atMs'),
    Tries: row.get('tries') ?? 0,
    Tried: time('triedMs'),
  });
}

/** The functions about rows that PostgreSQL refused. */
export const QUARANTINE_RUNNER: readonly RunnerFunction[] = [list, retry, drop];
