export type { FleetRow } from './fleet-index.ts';
export { FleetIndex } from './fleet-index.ts';
export type { FleetFacets, FleetOrder, FleetPlace, FleetQuery } from './page.ts';
export { facetsOf, pageOf } from './page.ts';
export type { Judge } from './row-sight.ts';
export { RowSight } from './row-sight.ts';
