import { AUDIT_BEGINNING } from '@brine/crypt';
import type { AuditRow } from '@brine/job';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { RowSeal, RunnerContext, RunnerFunction } from '../function.ts';

/** Limit of listed faults; the rest is counted. */
const FAULTS_SHOWN_MAX = 100;
const LIST_DEFAULT = 50;

/** The faults of recorded rows. */
export interface AuditFaults {
  readonly rows: number;
  readonly writers: number;
  readonly faults: readonly string[];
}

/**
 * Checks rows in the order of writers and numbers. A fault names the first row at which the chain
 * of a writer breaks. The rows after it are checked by their own seals.
 */
export class AuditCheck {
  readonly #seal: RowSeal;
  readonly #faults: string[] = [];
  #last: { readonly writer: string; readonly n: number; readonly seal: string } | undefined;
  #rows = 0;
  #writers = 0;

  constructor(seal: RowSeal) {
    this.#seal = seal;
  }

  take(row: AuditRow): void {
    this.#rows += 1;
    const isFirst = this.#last?.writer !== row.writer;
    if (isFirst) this.#writers += 1;
    const last = isFirst ? undefined : this.#last;
    const name = `${row.writer} ${row.n}`;
    const due = (last?.n ?? 0) + 1;
    if (row.n !== due) {
      this.#fault(`${name}: ${due === row.n - 1 ? 'row' : 'rows from'} ${due} missing before it`);
    } else if (row.before !== (last?.seal ?? AUDIT_BEGINNING)) {
      this.#fault(`${name}: does not follow the row before it`);
    }
    if (this.#seal.of(row, row.before) !== row.seal) this.#fault(`${name}: was changed or moved`);
    this.#last = row;
  }

  /** The result for the rows so far. */
  get result(): AuditFaults {
    return { rows: this.#rows, writers: this.#writers, faults: this.#faults };
  }

  #fault(text: string): void {
    if (this.#faults.length < FAULTS_SHOWN_MAX) this.#faults.push(text);
  }
}

/** `audit.verify`: runs at the owner of the key, who need not trust a process. */
export const VERIFY: RunnerFunction = {
  name: 'audit.verify',
  parameters: [],
  doc:
    'Checks the seals of all rows on record and names the rows that were changed, taken out or ' +
    'moved. Needs master.pem of this host.',
  async run(_given, { auditSeal, jobs }) {
    const check = new AuditCheck(await auditSeal());
    for await (const row of jobs.audit()) check.take(row);
    const { rows, writers, faults } = check.result;
    return { value: mapOf({ intact: faults.length === 0, rows, writers, faults: [...faults] }) };
  },
};

const list: RunnerFunction = {
  name: 'audit.list',
  parameters: [
    ['limit', LIST_DEFAULT],
    ['kind', null],
    ['principal', null],
    ['since', null],
    ['before', null],
    ['until', null],
  ],
  doc:
    'Shows the newest rows on record: publishes, runners, wheels, tokens, key acts, log-ins ' +
    'and revealed pillars, allowed or refused. principal is the name that was proven, claimed ' +
    'the one that was only given. kind (publish, runner, wheel, token, key, login, read) and ' +
    'principal, which finds both names, narrow them; so do since and until, times: rows at or ' +
    'after the one, and before the other. before has the time and the row of a shown one: those ' +
    'that come after it in this list.',
  async run(given, { jobs }) {
    const text = (name: string): string | undefined => {
      const value = given.named.get(name);
      return typeof value === 'string' ? value : undefined;
    };
    const limit = given.named.get('limit');
    const rows = await jobs.newestAudit({
      limit: typeof limit === 'number' ? limit : LIST_DEFAULT,
      kind: text('kind'),
      principal: text('principal'),
      ...placeOf(text('before')),
      since: momentOf('since', text('since')),
      until: momentOf('until', text('until')),
    });
    return { value: rows.map(shownRow) };
  },
};

/** The place of a row that was shown: `<at> <row>`. @throws Error for another text */
function placeOf(text: string | undefined): Pick<Wanted, 'before'> {
  if (text === undefined) return {};
  const [, at = '', writer = '', n = ''] = /^(\S+) (.+) (\d{1,15})$/s.exec(text) ?? [];
  return { before: { at: momentOf('before', at) ?? 0, writer, n: Number(n) } };
}

type Wanted = Parameters<RunnerContext['jobs']['newestAudit']>[0];

function momentOf(name: string, text: string | undefined): number | undefined {
  const ms = text === undefined ? undefined : Date.parse(text);
  if (Number.isNaN(ms)) throw new Error(`${name} is no time: ${text ?? ''}`);
  return ms;
}

function shownRow({ writer, n, body }: AuditRow): SaltMap {
  const record = JSON.parse(body) as Record<string, string | number>;
  return new Map<SaltValue, SaltValue>([...Object.entries(record), ['row', `${writer} ${n}`]]);
}

export const AUDIT_RUNNER: readonly RunnerFunction[] = [VERIFY, list];
