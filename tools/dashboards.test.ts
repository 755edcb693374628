// The dashboards' files equal those that their description makes, and Grafana can show them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { BOARDS, DASHBOARDS_DIR, dashboardText } from './dashboards.ts';
import { dashboardOf } from './dashboards/board.ts';

const SOURCES = new URL('../infra/grafana/provisioning/datasources/brine.yaml', import.meta.url);

const panels = BOARDS.flatMap((board) =>
  (dashboardOf(board).panels ?? []).map((panel) => ({ board: board.name, panel })),
);
// Only a row can be collapsed.
const shown = panels.flatMap(({ board, panel }) =>
  'collapsed' in panel ? [] : [{ board, panel }],
);

describe('dashboards', () => {
  test('the files equal those of the description; after a change: npm run dashboards', async () => {
    const files = BOARDS.map(({ name }) => `${name}.json`).sort();
    expect(readdirSync(DASHBOARDS_DIR).sort()).toEqual(files);
    for (const board of BOARDS) {
      const text = readFileSync(join(DASHBOARDS_DIR, `${board.name}.json`), 'utf8');
      expect(text, board.name).toBe(await dashboardText(board));
    }
  });

  test('no two panels of a board have one id, one title or one place', () => {
    for (const { name } of BOARDS) {
      const own = panels.filter(({ board }) => board === name).map(({ panel }) => panel);
      expect(new Set(own.map(({ id }) => id)).size, name).toBe(own.length);
      const titles = own.filter(({ type }) => type !== 'row').map(({ title }) => title);
      expect(new Set(titles).size, name).toBe(titles.length);
      const taken = new Set<string>();
      for (const { gridPos, title } of own) {
        const { x, y, w, h } = gridPos ?? { x: 0, y: 0, w: 0, h: 0 };
        expect(x + w, title).toBeLessThanOrEqual(24);
        for (let row = y; row < y + h; row += 1) {
          for (let column = x; column < x + w; column += 1) {
            const cell = `${column}:${row}`;
            expect(taken.has(cell), `${name}: ${title} lies on another panel`).toBe(false);
            taken.add(cell);
          }
        }
      }
    }
  });

  test('each panel says what it is for, and asks something', () => {
    for (const { board, panel } of shown) {
      expect(panel.description, `${board}: ${panel.title}`).toMatch(/\.$/);
      expect(panel.targets?.length, `${board}: ${panel.title}`).toBeGreaterThan(0);
    }
  });

  test('each data source that is asked is provisioned', () => {
    const { datasources } = parse(readFileSync(SOURCES, 'utf8')) as {
      datasources: { uid: string; type: string }[];
    };
    const there = datasources.map(({ uid, type }) => `${type} ${uid}`);
    const asked = [
      ...shown.map(({ panel }) => panel.datasource),
      ...BOARDS.flatMap(({ variables = [] }) => variables.map(({ datasource }) => datasource)),
    ].flatMap((source) => (source == null ? [] : [`${source.type} ${source.uid}`]));
    expect([...new Set(asked)].filter((one) => !there.includes(one))).toEqual([]);
    expect(asked.length).toBeGreaterThanOrEqual(shown.length);
  });
});
