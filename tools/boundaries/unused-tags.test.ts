import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

interface Tagged {
  readonly name: string;
  readonly path: string;
  readonly floor: string;
  readonly on: readonly string[];
  readonly owns: readonly string[];
}

const { unusedTags } = createRequire(import.meta.url)('./unused-tags.cjs') as {
  unusedTags: (
    root: string,
    packages: readonly Tagged[],
    below: Readonly<Record<string, readonly string[]>>,
  ) => string[];
};

const BELOW = { ground: ['ground'], edge: ['ground'], rule: ['ground'] };
const BUS = {
  name: 'bus',
  path: 'libs/bus',
  floor: 'edge',
  on: [],
  owns: ['@nats-io/', 'pg(-|$)'],
};
const WIRE = { name: 'wire', path: 'libs/wire', floor: 'ground', on: [], owns: [] };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'brine-tags-'));
  put('libs/bus/src/bus.ts', "import { connect } from '@nats-io/nats-core';\nimport 'pg-copy';\n");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function gateway(on: readonly string[], owns: readonly string[] = []): Tagged {
  return { name: 'gateway', path: 'libs/gateway', floor: 'rule', on, owns };
}

test('tags that a source needs are no trouble', () => {
  put('libs/gateway/src/room/gateway.ts', "import { Inbox } from '@brine/bus/rpc';\n");
  expect(unusedTags(root, [BUS, WIRE, gateway(['bus'])], BELOW)).toEqual([]);
});

test('a library and an outside package that only a test imports are named', () => {
  put('libs/gateway/src/gateway.test.ts', "import '@brine/bus';\nimport 'zeromq';\n");
  expect(unusedTags(root, [BUS, gateway(['bus'], ['zeromq'])], BELOW)).toEqual([
    'libs/gateway: on:bus is not imported',
    'libs/gateway: owns:zeromq is not imported',
  ]);
});

test('a library that the floor allows anyway needs no tag', () => {
  put('libs/gateway/src/gateway.ts', "import { pack } from '@brine/wire';\n");
  expect(unusedTags(root, [WIRE, gateway(['wire'])], BELOW)).toEqual([
    'libs/gateway: on:wire is allowed by floor:rule',
  ]);
});
