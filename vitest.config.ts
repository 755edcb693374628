import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/layers/longest-first.ts';

// `@brine/<lib>` resolves to its source: tests need no build, and errors point at what was written.
// No 'import' here: vitest hands the list to Node, which would apply it to `require` too, and
// CommonJS packages (pg) would get the ES module of their dependencies.
const conditions = ['source', 'node'];
const resolve = { conditions };
const ssr = { resolve: { conditions, externalConditions: conditions } };

/** How many files run at once. Set by tools/tests, which knows what runs beside. */
const WORKERS = Number(process.env['BRINE_TEST_WORKERS'] ?? 3);

/** What a layer's tests are called, what is set up for them, and how long they may take. */
interface Layer {
  readonly name: string;
  /** Tests are named after the layer, `x.served.test.ts`, but for the pure ones. */
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly setupFiles: readonly string[];
  /** Runs once for the layer, where a file of it runs. */
  readonly globalSetup?: string;
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
    // They compute, in what the other layers leave of the cores: a time shows little of them.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
  {
    name: 'served',
    include: ['**/*.served.test.ts'],
    setupFiles: ['test/layers/nothing-left.ts'],
    globalSetup: 'test/layers/one-postgres.ts',
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
  {
    name: 'masters',
    include: ['**/*.masters.test.ts'],
    setupFiles: ['test/layers/scenes-of-failures.ts'],
    testTimeout: 180_000,
    // The first run installs Salt.
    hookTimeout: 900_000,
  },
  {
    name: 'deep',
    include: ['**/*.deep.test.ts'],
    setupFiles: ['test/layers/scenes-of-failures.ts'],
    testTimeout: 180_000,
    hookTimeout: 900_000,
  },
  {
    name: 'hosts',
    include: ['**/*.hosts.test.ts'],
    setupFiles: [],
    testTimeout: 180_000,
    hookTimeout: 900_000,
  },
];

export default defineConfig({
  resolve,
  ssr,
  test: {
    sequence: { sequencer: LongestFirst },
    projects: layers.map(({ name, include, exclude = [], setupFiles, ...limits }) => ({
      resolve,
      ssr,
      test: {
        name,
        include: [...include],
        exclude: [...exclude, '**/dist/**', '**/node_modules/**'],
        setupFiles: ['test/layers/cpu-of-file.ts', ...setupFiles],
        // As `until` of @brine/testing/waits: with vitest's one second, a busy machine looks like a
        // fault. It is below the time of a whole test, so that the wait names what did not come.
        expect: { poll: { timeout: 30_000 } },
        // The failure is all that CI shows: chai's 40 characters do not show its cause.
        chaiConfig: { truncateThreshold: 0 },
        // Native sockets (zeromq) want a process of their own, not a thread.
        pool: 'forks' as const,
        // Files of one process share what they import: a second import costs more than most tests.
        isolate: false,
        // All in one queue: files that wait leave the cores to files that compute.
        maxWorkers: WORKERS,
        ...limits,
      },
    })),
  },
});
