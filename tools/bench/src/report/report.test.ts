import { describe, expect, it } from 'vitest';
import { cellOf, emptyCell, figureOf } from './figure.ts';
import { drawReport, MARKS, replaceTable, type Report } from './report.ts';
import { drawTable, showNumber, showRatio } from './table.ts';

const RETURNS = figureOf({
  row: 'returns',
  name: 'returns/s',
  unit: '1/s',
  better: 'more',
  cells: {
    brine: cellOf([8_000, 9_000, 10_000], { rigBound: true }),
    '3006.30': cellOf([800, 1_000, 1_000]),
  },
});
const PING = figureOf({
  row: 'fleet',
  name: 'test.ping',
  unit: 'ms',
  better: 'less',
  cells: { brine: cellOf([10]), '3006.30': cellOf([40]), '3008.2': emptyCell('not reached') },
});

const REPORT: Report = {
  commit: 'abc',
  changed: true,
  command: 'npm run bench',
  startedAt: '2026-11-21T10:00:00.000Z',
  seconds: 600,
  machine: { cores: 2, cpu: 'Some CPU', memoryGiB: 24, node: 'v20', kernel: '6.1' },
  figures: [RETURNS, PING],
  failures: [{ row: 'herd', reason: 'no sockets left' }],
};

describe('figureOf', () => {
  it('gives ratios above 1 where Brine is better, whichever way better is', () => {
    expect(RETURNS.ratios['3006.30']?.median).toBe(10);
    expect(PING.ratios['3006.30']?.median).toBe(4);
    expect(PING.ratios['3008.2']).toBeUndefined();
  });
});

describe('drawTable', () => {
  it('shows numbers, notes, and what was the limit', () => {
    const table = drawTable([RETURNS, PING]);
    expect(table.split('\n')[0]).toMatch(/Brine.*Salt 3006\.30.*Salt 3008\.2.*to 3006\.30/);
    expect(table).toContain('9,000 (rig)');
    expect(table).toContain('test.ping, ms');
    expect(table).toContain('not reached');
    expect(table).toContain('10× (9.5–10)');
  });

  it('has no columns for masters that did not run', () => {
    const alone = { ...RETURNS, cells: { brine: cellOf([1]) }, ratios: {} };
    expect(drawTable([alone])).not.toContain('3008.2');
  });
});

describe('showNumber', () => {
  it.each([
    [12_345.6, '12,346'],
    [99.96, '100'],
    [12.34, '12.3'],
    [1.236, '1.24'],
    [0, '0'],
    [Number.NaN, '–'],
  ])('%d is %s', (value, text) => {
    expect(showNumber(value)).toBe(text);
  });

  it('shows a single ratio without a spread', () => {
    expect(showRatio(PING.ratios['3006.30'])).toBe('4×');
    expect(showRatio(undefined)).toBe('');
  });
});

describe('drawReport', () => {
  it('names commit, command and machine, the limit of the rig, and what failed', () => {
    const text = drawReport(REPORT);
    expect(text).toContain('Commit abc with changes, 2026-11-21, `npm run bench`, 10 min');
    expect(text).toContain('2 cores (Some CPU), 24 GiB');
    expect(text).toContain('the load generator was the limit');
    expect(text).toContain('Not measured: herd: no sockets left');
  });
});

describe('replaceTable', () => {
  it('replaces the text between the marks, and only that', () => {
    const before = `# A\n\n${MARKS.begin}\nold\n${MARKS.end}\n\nend\n`;
    const once = replaceTable(before, REPORT);
    expect(once).toMatch(/^# A\n\n<!-- bench: begin -->\n\n\|/);
    expect(once).not.toContain('old');
    expect(once.endsWith(`${MARKS.end}\n\nend\n`)).toBe(true);
    expect(replaceTable(once, REPORT)).toBe(once);
  });

  it('says so where there are none', () => {
    expect(() => replaceTable('# A\n', REPORT)).toThrow(/not found/);
  });
});
