import { type Step, type Tree } from './import-graph.ts';

/** Files that sources matching `by` read beyond their imports. */
export interface Read {
  readonly by: RegExp;
  /** Files, folders (with a slash at the end), or all files that match. */
  readonly reads: readonly (string | RegExp)[];
  /** True if the read files lead to no others, as a test's settings. */
  readonly alone?: boolean;
  /** Only for tests that have this name in a string. */
  readonly named?: string;
}

/** A row of the table as steps of reach. */
export interface Row {
  readonly by: RegExp;
  readonly steps: readonly Step[];
}

/** The table. The paths of a test's strings and of `new URL(…, import.meta.url)` need no row. */
export const OTHER_READS: readonly Read[] = [
  {
    by: /\.test\.ts$/,
    reads: [
      'test/layers/cpu-of-file.ts',
      'package-lock.json',
      'vitest.config.ts',
      'tsconfig.base.json',
      '.npmrc',
    ],
    alone: true,
  },
  // Setup files of vitest.config.ts for each layer.
  { by: /\.test\.ts$/, reads: ['test/layers/nothing-started.ts'], alone: true },
  {
    by: /\.served\.test\.ts$/,
    reads: ['test/layers/nothing-left.ts', 'test/layers/one-postgres.ts'],
  },
  { by: /\.(masters|deep)\.test\.ts$/, reads: ['test/layers/scenes-of-failures.ts'] },
  // Files that a program starts, by computed paths.
  {
    by: /^libs\/service\/src\/processes\/master-services\.ts$/,
    reads: [
      /^apps\/(event-bus|job-cache-returner|worker-pool|runner-pool|publisher|req-gateway)\/src\/main\.ts$/,
    ],
  },
  // The relay does nothing without a master above. The smoke set has a test that kills it.
  {
    by: /^libs\/service\/src\/processes\/master-services\.ts$/,
    reads: ['apps/syndic-relay/src/main.ts'],
    named: 'syndic_master',
  },
  // Neither does the HTTP API without a client that may use it.
  {
    by: /^libs\/service\/src\/processes\/master-services\.ts$/,
    reads: ['apps/http-api/src/main.ts'],
    named: 'netapi_enable_clients',
  },
  {
    by: /^test\/integration\/run-tool\.ts$/,
    reads: ['tools/chaos/src/main.ts', 'tools/swarm/src/main.ts'],
  },
  // The pages that http-api serves, as they were built.
  { by: /^test\/interop\/console\/.*\.test\.ts$/, reads: ['apps/console/'] },
  { by: /^libs\/python-host\/src\//, reads: ['libs/python-host/python/'] },
  {
    by: /^libs\/engines\/src\/supervise\//,
    reads: [/^libs\/engines\/src\/child\/[^/]*-main\.ts$/],
  },
  { by: /^libs\/minion\/src\/runner\//, reads: ['libs/minion/src/runner/runner-main.ts'] },
  { by: /^libs\/job\/src\/silence\.test\.ts$/, reads: ['libs/job/src/__snapshots__/'] },
  {
    by: /^test\/layers\/run-failing\.ts$/,
    reads: ['test/layers/failing/', 'test/layers/unended-tests.mjs'],
  },
  { by: /^test\/planted\//, reads: ['test/planted/main.ts', 'libs/', 'apps/'] },
  // Documents, and files for checks of the whole tree.
  { by: /^tools\/(tidy\.served|links|security)\.test\.ts$/, reads: [/\.md$/] },
  { by: /^tools\/tidy\.served\.test\.ts$/, reads: [/(^|\/)tsconfig[^/]*\.json$/, /^[^/]+\.json$/] },
];

/** Paths that need no test, and the reason. */
export interface Untested {
  readonly paths: RegExp;
  readonly why: string;
}

/** All of them. */
export const NEEDS_NO_TEST: readonly Untested[] = [
  { paths: /^(\.gitattributes|\.gitignore|\.nvmrc|LICENSE)$/, why: 'for git and for people' },
  {
    paths:
      /^(\.prettierignore|\.prettierrc\.json|eslint\.config\.js|knip\.json|nx\.json|tsconfig\.test\.json|tools\/dependency-rules\.cjs)$/,
    why: 'settings of `npm run check`',
  },
  {
    paths: /^(\.ci\/run|tools\/(ready|bundle)\.mjs|tools\/tests\/|test\/layers\/flaky\.json$)/,
    why: 'every run of tests runs them',
  },
  { paths: /^libs\/[^/]+\/bench\/|^apps\/[^/]+\/bench\//, why: 'benchmarks, run by hand' },
  {
    paths: /^tools\/(fuzz|containers)\b/,
    why: 'run by hand: `npm run fuzz`, `npm run containers`',
  },
  {
    paths:
      /\/(record|again)\.py$|\/(record|record-cases|run-stock|stock-lab)\.ts$|^tools\/drift\/main\.ts$|^(tools\/record-demo|test\/interop\/console\/record-console)\.ts$|^docs\/(first-minute\.svg|console\.png)$|^test\/interop\/minions\/formula\.ts$/,
    why: 'make recordings, by hand and at night',
  },
  { paths: /^tools\/(bench\/src\/soak|ledger-check\/src\/main)\.ts$/, why: 'run by hand' },
];

/** Throws for a row that names a missing path. */
export function rowsOf(table: readonly Read[], tree: Tree): readonly Row[] {
  return table.map(({ by, reads, alone = false, named }) => {
    const paths = reads.flatMap((read) => pathsOf(read, tree));
    return { by, steps: paths.map((to) => ({ to, through: !alone, named })) };
  });
}

function pathsOf(read: string | RegExp, { paths }: Tree): readonly string[] {
  if (typeof read !== 'string') {
    const found = paths.filter((path) => read.test(path));
    if (found.length === 0) throw new Error(`other-reads.ts: no file matches ${String(read)}`);
    return found;
  }
  const isThere = read.endsWith('/')
    ? paths.some((path) => path.startsWith(read))
    : paths.includes(read);
  if (!isThere) throw new Error(`other-reads.ts: ${read} is gone`);
  return [read];
}
