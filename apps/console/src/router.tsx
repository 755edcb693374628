import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { DRIFT_SEARCH } from './pages/drift/drift-search.ts';
import { EVENTS_SEARCH } from './pages/events/events-search.ts';
import { JOB_SEARCH } from './pages/job/job-search.ts';
import { JOBS_SEARCH } from './pages/jobs/jobs-search.ts';
import { RUNS_SEARCH } from './pages/runs/runs-search.ts';
import { CONSOLE_PATH } from './places.ts';
import { Frame } from './shell/frame.tsx';
import { NotFound } from './shell/not-found.tsx';
import { Trouble } from './shell/trouble.tsx';
import { readFleetSearch } from './state/fleet/fleet-search.ts';
import { runSearch } from './state/run/run-search.ts';
import { parseSearch, pick, searchText } from './state/search.ts';

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  errorComponent: Trouble,
});

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: '/jobs',
  validateSearch: (search) => pick(search, JOBS_SEARCH),
  component: lazyRouteComponent(() => import('./pages/jobs/jobs-page.tsx'), 'JobsPage'),
});

const job = createRoute({
  getParentRoute: () => root,
  path: '/jobs/$jid',
  validateSearch: (search) => pick(search, JOB_SEARCH),
  component: lazyRouteComponent(() => import('./pages/job/job-page.tsx'), 'JobPage'),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: (search) => pick(search, ['who', 'act', 'from', 'to', 'open', 'check']),
  component: lazyRouteComponent(() => import('./pages/audit/audit-page.tsx'), 'AuditPage'),
});

const services = createRoute({
  getParentRoute: () => root,
  path: '/services',
  validateSearch: (search) => pick(search, ['open']),
  component: lazyRouteComponent(() => import('./pages/services/services-page.tsx'), 'ServicesPage'),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
});

const minions = createRoute({
  getParentRoute: () => root,
  path: '/minions',
  validateSearch: readFleetSearch,
  component: lazyRouteComponent(() => import('./pages/minions/minions-page.tsx'), 'MinionsPage'),
});

const minion = createRoute({
  getParentRoute: () => root,
  path: '/minions/$id',
  validateSearch: (search) => pick(search, ['tab', 'q', 'state']),
  component: lazyRouteComponent(() => import('./pages/minion/minion-page.tsx'), 'MinionPage'),
});

const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  validateSearch: (search) => pick(search, ['state', 'q', 'open']),
  component: lazyRouteComponent(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
});

const run = createRoute({
  getParentRoute: () => root,
  path: '/run',
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import('./pages/run/run-page.tsx'), 'RunPage'),
});

const batches = createRoute({
  getParentRoute: () => root,
  path: '/batches',
  component: lazyRouteComponent(() => import('./pages/batches/batches-page.tsx'), 'BatchesPage'),
});

const batch = createRoute({
  getParentRoute: () => root,
  path: '/batches/$jid',
  component: lazyRouteComponent(() => import('./pages/batches/batch-page.tsx'), 'BatchPage'),
});

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: (search) => pick(search, RUNS_SEARCH),
  component: lazyRouteComponent(() => import('./pages/runs/runs-page.tsx'), 'RunsPage'),
});

const oneRun = createRoute({
  getParentRoute: () => root,
  path: '/runs/$jid',
  component: lazyRouteComponent(() => import('./pages/runs/run-page.tsx'), 'RunDetailPage'),
});

const events = createRoute({
  getParentRoute: () => root,
  path: '/events',
  validateSearch: (search) => pick(search, EVENTS_SEARCH),
  component: lazyRouteComponent(() => import('./pages/events/events-page.tsx'), 'EventsPage'),
});

const drift = createRoute({
  getParentRoute: () => root,
  path: '/drift',
  validateSearch: (search) => pick(search, DRIFT_SEARCH),
  component: lazyRouteComponent(() => import('./pages/drift/drift-page.tsx'), 'DriftPage'),
});

const reactor = createRoute({
  getParentRoute: () => root,
  path: '/reactor',
  validateSearch: (search) => pick(search, ['tag']),
  component: lazyRouteComponent(() => import('./pages/reactor/reactor-page.tsx'), 'ReactorPage'),
});

const schedule = createRoute({
  getParentRoute: () => root,
  path: '/schedule',
  component: lazyRouteComponent(() => import('./pages/schedule/schedule-page.tsx'), 'SchedulePage'),
});

const runbook = createRoute({
  getParentRoute: () => root,
  path: '/runbook/$page',
  validateSearch: (search) => pick(search, ['at']),
  component: lazyRouteComponent(() => import('./pages/runbook/runbook-page.tsx'), 'RunbookPage'),
});

/** The pages by their addresses. Filters, order, what is open: all is in the address. */
export const router = createRouter({
  routeTree: root.addChildren([
    overview,
    minions,
    minion,
    keys,
    jobs,
    job,
    run,
    batches,
    batch,
    runs,
    oneRun,
    audit,
    services,
    settings,
    drift,
    reactor,
    schedule,
    events,
    runbook,
  ]),
  basepath: CONSOLE_PATH,
  parseSearch,
  stringifySearch: searchText,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
