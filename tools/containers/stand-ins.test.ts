import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DockerfileParser } from 'dockerfile-ast';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { LEFT_OUT, STAND_INS } from './stand-ins.ts';

const INFRA = new URL('../../infra/', import.meta.url).pathname;
const FOLDERS = new URL('./stand-ins/', import.meta.url).pathname;

test('each image that is not built here has a stand-in, or is left out by name', () => {
  const compose = parse(readFileSync(join(INFRA, 'compose.yaml'), 'utf8'), { merge: true }) as {
    services: Readonly<Record<string, { readonly image?: string }>>;
  };
  const used = Object.entries(compose.services).flatMap(([name, { image }]) =>
    image === undefined || LEFT_OUT.includes(name) ? [] : [image],
  );
  const dockerfile = DockerfileParser.parse(readFileSync(join(INFRA, 'Dockerfile'), 'utf8'));
  const bases = dockerfile
    .getFROMs()
    .flatMap((from) => from.getImage() ?? [])
    .filter((image) => image.includes(':'));
  expect([...new Set([...used, ...bases])].sort()).toEqual(Object.keys(STAND_INS).sort());
  expect(LEFT_OUT.filter((name) => compose.services[name] === undefined)).toEqual([]);
});

test('each folder of a stand-in has a Dockerfile', () => {
  const folders = Object.values(STAND_INS).flatMap(({ folder }) => folder ?? []);
  expect(folders.filter((name) => !existsSync(join(FOLDERS, name, 'Dockerfile')))).toEqual([]);
});
