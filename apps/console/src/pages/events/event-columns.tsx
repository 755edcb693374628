import type { EventShown } from '@brine/api';
import { Clock } from '../../parts/clock.tsx';
import { Given } from '../../parts/given.tsx';
import type { GridColumn } from '../../parts/grid/grid.tsx';
import { StateSign } from '../../parts/state-sign.tsx';
import { eventSummary, returnedAs } from '../../state/event-summary.ts';

/** What is seen of a body in its row, characters. */
const SUMMARY_MAX = 200;

export const EVENT_COLUMNS: readonly GridColumn<EventShown>[] = [
  { id: 'at', title: 'Time (UTC)', width: '9rem', cell: ({ at }) => <Clock time={at} /> },
  {
    id: 'tag',
    title: 'Tag',
    width: 'minmax(10rem, 4fr)',
    cell: ({ tag }) => <Given text={tag} />,
  },
  {
    id: 'minion',
    title: 'Minion',
    width: 'minmax(5rem, 1fr)',
    cell: ({ minion }) => (minion === undefined ? '–' : <Given text={minion} />),
  },
  { id: 'kind', title: 'Kind', width: '7rem', isWide: true, cell: Kind },
  {
    id: 'data',
    title: 'Body',
    width: 'minmax(8rem, 3fr)',
    isWide: true,
    cell: (event) => <Given text={eventSummary(event, SUMMARY_MAX)} max={SUMMARY_MAX} />,
  },
];

function Kind(event: EventShown) {
  const state = returnedAs(event);
  return state === undefined ? event.kind : <StateSign state={state} />;
}
