import { defineConfig } from 'vitest/config';

// `@brine/<lib>` resolves to its source: tests need no build, and errors point at what was written.
// No 'import' here: vitest hands the list to Node, where it would also hold for `require`, and
// CommonJS packages (pg) would get the ES module of their dependencies.
const conditions = ['source', 'node'];
const resolve = { conditions };
/** As in test/patient-waits.ts, for `expect.poll`. */
const patience = {
  setupFiles: ['test/patient-waits.ts'],
  expect: { poll: { timeout: 12_000 } },
};
const ssr = { resolve: { conditions, externalConditions: conditions } };

export default defineConfig({
  resolve,
  ssr,
  test: {
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: 'unit',
          ...patience,
          include: [
            '{libs,apps,tools}/*/src/**/*.test.ts',
            'tools/*.test.ts',
            'test/simulation/*.test.ts',
            'test/planted/*.test.ts',
            'test/worst-work/*.test.ts',
          ],
          exclude: ['**/dist/**', '**/node_modules/**'],
          // Native sockets (zeromq) want a process of their own, not a thread.
          pool: 'forks',
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'integration',
          ...patience,
          include: ['test/integration/**/*.test.ts'],
          pool: 'forks',
          // A whole master per file: two at once are as many as two cores carry.
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'interop',
          ...patience,
          include: ['test/interop/**/*.test.ts'],
          pool: 'forks',
          // Real minions time out when they starve, so one file after the other.
          fileParallelism: false,
          maxWorkers: 1,
          testTimeout: 180_000,
          // The first run installs Salt.
          hookTimeout: 900_000,
        },
      },
    ],
  },
});
