export { cut } from './dictionary.ts';
export type { FleetRow, KeyFacts, RowParts, StateRun } from './fleet-index.ts';
export { FleetIndex } from './fleet-index.ts';
export type { FleetFacets, FleetOrder, FleetPage, FleetPlace, FleetQuery } from './page.ts';
export { facetsOf, pageOf } from './page.ts';
export type { Judge } from './row-sight.ts';
export { RowSight } from './row-sight.ts';
export type { FleetKey, SeenBy } from './rows.ts';
export { KEYS, SEEN_BY } from './rows.ts';
