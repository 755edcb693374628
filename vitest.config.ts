import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/layers/longest-first.ts';

// `@brine/<lib>` resolves to its source: tests need no build, and errors point at what was written.
// No 'import' here: vitest hands the list to Node, where it would also hold for `require`, and
// CommonJS packages (pg) would get the ES module of their dependencies.
const conditions = ['source', 'node'];
const resolve = { conditions };
const ssr = { resolve: { conditions, externalConditions: conditions } };

/** What a layer's tests are called, how many files run at once, and how long they may take. */
interface Layer {
  readonly name: string;
  /** Tests are named after the layer, `x.served.test.ts`, but for the pure ones. */
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly setupFiles?: readonly string[];
  /** Runs once for the layer, where a file of it runs. */
  readonly globalSetup?: string;
  readonly maxWorkers: number;
  readonly testTimeout: number;
  readonly hookTimeout: number;
}

/** The cheapest first. What each may start: CONTRIBUTING.md. */
const layers: readonly Layer[] = [
  {
    name: 'pure',
    include: ['**/*.test.ts'],
    exclude: ['**/*.{served,masters,deep,hosts}.test.ts'],
    setupFiles: ['test/layers/nothing-started.ts'],
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 60_000,
  },
  {
    name: 'served',
    include: ['**/*.served.test.ts'],
    setupFiles: ['test/layers/nothing-left.ts'],
    globalSetup: 'test/layers/one-postgres.ts',
    // They wait for servers more than they compute.
    maxWorkers: 3,
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
  {
    name: 'masters',
    include: ['**/*.masters.test.ts'],
    setupFiles: ['test/layers/scenes-of-failures.ts'],
    maxWorkers: 3,
    testTimeout: 180_000,
    // The first run installs Salt.
    hookTimeout: 900_000,
  },
  {
    name: 'deep',
    include: ['**/*.deep.test.ts'],
    setupFiles: ['test/layers/scenes-of-failures.ts'],
    maxWorkers: 3,
    testTimeout: 180_000,
    hookTimeout: 900_000,
  },
  {
    name: 'hosts',
    include: ['**/*.hosts.test.ts'],
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 900_000,
  },
];

export default defineConfig({
  resolve,
  ssr,
  test: {
    sequence: { sequencer: LongestFirst },
    projects: layers.map(({ name, include, exclude = [], setupFiles = [], ...limits }, at) => ({
      resolve,
      ssr,
      test: {
        name,
        include: [...include],
        exclude: [...exclude, '**/dist/**', '**/node_modules/**'],
        setupFiles: [...setupFiles],
        // As `until` of @brine/testing/waits: with vitest's one second, a busy machine looks like a
        // fault. It is below the time of a whole test, so that the wait says what did not come.
        expect: { poll: { timeout: 30_000 } },
        // A failure in CI is all that there is to see: chai's 40 characters do not tell it.
        chaiConfig: { truncateThreshold: 0 },
        // Native sockets (zeromq) want a process of their own, not a thread.
        pool: 'forks' as const,
        // Files of one process share what they import: a second import costs more than most tests.
        isolate: false,
        sequence: { groupOrder: at },
        ...limits,
      },
    })),
  },
});
