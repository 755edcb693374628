// Places tiles in rows and writes the dashboard around them.
import type { Dashboard, Panel, RowPanel, VariableModel } from '@grafana/schema';
import { DashboardCursorSync } from '@grafana/schema';
import type { Tile } from './panels.ts';

/** Grafana's grid. */
const COLUMNS = 24;
/** Version of Grafana 11; later ones migrate it on loading. */
const SCHEMA_VERSION = 39;

/** A dashboard in our form. */
export interface Board {
  /** The name of its file, and the end of its uid. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly variables?: readonly VariableModel[];
  readonly rows: readonly { readonly title: string; readonly tiles: readonly Tile[] }[];
}

/** The dashboard in Grafana's form. */
export function dashboardOf(board: Board): Dashboard {
  return {
    uid: `brine-${board.name}`,
    title: `Brine / ${board.title}`,
    description: board.about,
    tags: ['brine'],
    editable: true,
    graphTooltip: DashboardCursorSync.Crosshair,
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    schemaVersion: SCHEMA_VERSION,
    templating: { list: [...(board.variables ?? [])] },
    annotations: { list: [] },
    links: [
      {
        type: 'dashboards',
        tags: ['brine'],
        title: 'Brine',
        asDropdown: true,
        includeVars: false,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        tooltip: '',
        url: '',
      },
    ],
    panels: place(board),
  };
}

function place(board: Board): (Panel | RowPanel)[] {
  const panels: (Panel | RowPanel)[] = [];
  let y = 0;
  const nextId = (): number => panels.length + 1;
  for (const { title, tiles } of board.rows) {
    panels.push({
      id: nextId(),
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let tallest = 0;
    for (const { width, height, panel } of tiles) {
      if (x + width > COLUMNS) {
        y += tallest;
        [x, tallest] = [0, 0];
      }
      panels.push({ ...panel, id: nextId(), gridPos: { x, y, w: width, h: height } });
      x += width;
      tallest = Math.max(tallest, height);
    }
    y += tallest;
  }
  return panels;
}
