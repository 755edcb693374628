import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { JOB_SEARCH } from './pages/job/job-search.ts';
import { JOBS_SEARCH } from './pages/jobs/jobs-search.ts';
import { CONSOLE_PATH } from './places.ts';
import { Frame } from './shell/frame.tsx';
import { NotFound } from './shell/not-found.tsx';
import { Trouble } from './shell/trouble.tsx';
import { parseSearch, pick, searchText } from './state/search.ts';

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  errorComponent: Trouble,
});

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => redirect({ to: '/jobs', throw: true }),
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

/** The pages by their addresses. Filters, order, what is open: all is in the address. */
export const router = createRouter({
  routeTree: root.addChildren([overview, jobs, job]),
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
