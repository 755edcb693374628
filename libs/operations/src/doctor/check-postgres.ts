import type { DatabaseFacts, FactRow } from '@brine/job-cache';
import type { Finding } from '../findings/finding.ts';
import { sizeText } from './check-disks.ts';

/** Shares of `max_connections`. */
const CONNECTIONS = [
  { level: 'bad', share: 0.95 },
  { level: 'warn', share: 0.8 },
] as const;
/** An open transaction of this age keeps dead rows of all tables, s. */
const OLD_TRANSACTION_S = 3_600;
/** A table with more dead rows than this, and than live rows, needs vacuum. */
const DEAD_ROWS = 100_000;
/** Lag of a standby, s: a failover would lose as much. */
const STANDBY_BEHIND_S = 60;
/** The job cache judges deadlines by PostgreSQL's clock, ms. */
const SKEW_MS = 2_000;

/** Settings with which PostgreSQL loses acknowledged data, or fails later. */
const SETTINGS = [
  ['fsync', 'off', 'bad', 'a power cut may destroy the whole database'],
  ['full_page_writes', 'off', 'bad', 'a power cut may destroy pages'],
  ['synchronous_commit', 'off', 'warn', 'a crash loses the last returns'],
  ['autovacuum', 'off', 'warn', 'tables grow without end'],
  ['default_transaction_read_only', 'on', 'bad', 'no return can be stored'],
] as const;

/** Checks that PostgreSQL stores rows durably, and has no trouble ahead. */
export function checkPostgres(facts: DatabaseFacts & { readonly aheadMs?: number }): Finding[] {
  const findings: Finding[] = [];
  const add = (level: Finding['level'], check: string, text: string): void => {
    findings.push({ level, check, text });
  };
  if (facts.server['standby'] === true) {
    add('bad', 'postgres', 'this PostgreSQL is a standby and takes no rows: name the primary too');
  }
  for (const [name, value, level, loss] of SETTINGS) {
    if (facts.settings[name] === value) {
      add(level, 'postgres-settings', `${name} is ${value}: ${loss}; set it back`);
    }
  }
  const most = Number(facts.settings['max_connections'] ?? 0);
  const total = numberIn(facts.connections, 'total');
  const tight = CONNECTIONS.find(({ share }) => most > 0 && total >= most * share);
  if (tight !== undefined) {
    const text = `${total} of ${most} connections are taken: raise max_connections, or find whose`;
    add(tight.level, 'postgres-connections', text);
  }
  const oldest = numberIn(facts.connections, 'oldestTransactionSeconds');
  if (oldest > OLD_TRANSACTION_S) {
    const text = `a transaction is open for ${Math.round(oldest / 60)} minutes: end its session`;
    add('warn', 'postgres-transactions', text);
  }
  for (const row of facts.tables) {
    const [dead, live] = [numberIn(row, 'dead'), numberIn(row, 'live')];
    if (dead < DEAD_ROWS || dead < live) continue;
    add('warn', 'postgres-tables', `${String(row['table'])} has ${dead} dead rows: VACUUM it`);
  }
  for (const row of facts.standbys) {
    const behind = numberIn(row, 'behindSeconds');
    if (behind < STANDBY_BEHIND_S) continue;
    const text = `standby ${String(row['name'])} is ${Math.round(behind)} s behind: see its log`;
    add('warn', 'postgres-standbys', text);
  }
  const put = numberIn(facts.schema, 'quarantined');
  if (put > 0) {
    add('warn', 'quarantine', `${put} rows are in quarantine: see \`brine run jobs.quarantine\``);
  }
  const { aheadMs = 0 } = facts;
  if (Math.abs(aheadMs) > SKEW_MS) {
    const apart = (Math.abs(aheadMs) / 1000).toFixed(1);
    const how = aheadMs > 0 ? 'ahead of' : 'behind';
    add('warn', 'clock-skew', `PostgreSQL is ${apart} s ${how} this host: let chrony keep both`);
  }
  for (const [what, why] of Object.entries(facts.unknown)) {
    add('warn', 'postgres', `PostgreSQL did not return its ${what}: ${why}`);
  }
  if (findings.length > 0) return findings;
  const size = sizeText(numberIn(facts.server, 'bytes'));
  return [{ level: 'ok', check: 'postgres', text: `${size}, ${total} connections` }];
}

function numberIn(row: FactRow, key: string): number {
  const value = row[key];
  return typeof value === 'number' ? value : 0;
}
