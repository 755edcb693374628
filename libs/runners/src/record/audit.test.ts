import { AUDIT_BEGINNING, AuditSeal } from '@brine/crypt';
import type { AuditRow } from '@brine/job';
import { vectorFile } from '@brine/testing';
import { mapOf, type SaltMap } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';
import { AuditCheck } from './audit.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const seal = AuditSeal.fromMasterKey(keys[0]!.pem);

function chain(writer: string, rows: number): AuditRow[] {
  let before = AUDIT_BEGINNING;
  return Array.from({ length: rows }, (_, index) => {
    const row = { writer, n: index + 1, body: `{"x":${index}}`, before };
    before = seal.of(row, row.before);
    return { ...row, seal: before };
  });
}

function faultsIn(rows: readonly AuditRow[]): readonly string[] {
  const check = new AuditCheck(seal);
  for (const row of rows) check.take(row);
  return check.result.faults;
}

describe('rows on record', () => {
  const whole = (): AuditRow[] => [...chain('a', 5), ...chain('b', 3)];

  it('that were not touched are intact', () => {
    expect(faultsIn(whole())).toEqual([]);
  });

  it('an edit is named', () => {
    const rows = whole();
    rows[2] = { ...rows[2]!, body: '{"x":99}' };
    expect(faultsIn(rows)).toEqual(['a 3: was changed or moved']);
  });

  it('a deletion is named by the row after it', () => {
    const rows = whole();
    rows.splice(1, 2);
    expect(faultsIn(rows)).toEqual(['a 4: rows from 2 missing before it']);
    expect(faultsIn(chain('a', 4).slice(1))).toEqual(['a 2: row 1 missing before it']);
  });

  it('rows that changed places are named', () => {
    const rows = whole();
    const [one, other] = [rows[1]!, rows[2]!];
    rows[1] = { ...other, n: 2 };
    rows[2] = { ...one, n: 3 };
    expect(faultsIn(rows)).toContain('a 2: was changed or moved');
  });

  it('a row of another writer in its place is named, also with a fitting predecessor', () => {
    const rows = whole();
    rows[5] = { ...rows[0]!, writer: 'b' };
    expect(faultsIn(rows)).toContain('b 1: was changed or moved');
  });

  it('without master.pem no seal can be made', () => {
    const { pem } = vectorFile<{ keys: { pem: string }[] }>('rsa.json').keys[1]!;
    const foreign = AuditSeal.fromMasterKey(pem);
    const row = { writer: 'a', n: 1, body: '{}', before: AUDIT_BEGINNING };
    expect(faultsIn([{ ...row, seal: foreign.of(row, row.before) }])).toHaveLength(1);
  });
});

describe('a list of rows', () => {
  const asked: SaltMap[] = [];
  const rows = [mapOf({ writer: 'h 1', n: 7, body: '{"at":"x"}', before: '', seal: '' })];
  const scene = sceneOf([], {
    jobCache: (_query, args) => {
      asked.push(args);
      return rows;
    },
  });

  it('begins after a row that was shown', async () => {
    const since = '2026-11-29T00:00:00Z';
    const before = '2026-11-29T20:45:00.250Z h 1 7';
    const until = '2026-11-30T00:00:00Z';
    const given = mapOf({ since, until, before, kind: 'key' });
    const shown = await scene.value('audit.list', [], given);
    expect(shown).toEqual([mapOf({ at: 'x', row: 'h 1 7' })]);
    expect(asked.at(-1)).toEqual(
      mapOf({
        limit: 50,
        kind: 'key',
        since: Date.parse(since),
        until: Date.parse(until),
        before: mapOf({ at: Date.UTC(2026, 10, 29, 20, 45, 0, 250), writer: 'h 1', n: 7 }),
      }),
    );
  });

  it.each(['soon', 'never h 1', '2026-11-29T20:45:00Z h'])('begins at no %s', async (before) => {
    const { success } = await scene.run('audit.list', [], mapOf({ before }));
    expect(success).toBe(false);
  });
});
