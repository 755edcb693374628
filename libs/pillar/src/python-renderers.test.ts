import { mapOf, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { expect, test } from 'vitest';
import type { PillarOptions, PillarPorts, PythonModules, RenderStep } from './ports.ts';
import { RenderError, SlsRenderer } from './render-sls.ts';

const OPTIONS = {
  renderer: 'jinja|yaml',
  rendererBlacklist: [],
  rendererWhitelist: [],
  opts: mapOf({}),
  decrypt: {},
} as unknown as PillarOptions;
const SOURCE = { saltenv: 'base', path: 'a/init.sls', sls: 'a', defaults: mapOf({ d: 1 }) };
const MINION = {
  id: 'web1',
  grains: mapOf({}),
  saltenv: null,
  pillarenv: null,
  override: mapOf({}),
  ext: null,
};

function made(
  text: string,
  render?: (step: RenderStep) => SaltValue | undefined,
  options: Partial<PillarOptions> = {},
) {
  const log: string[] = [];
  const python: PythonModules | undefined =
    render && ({ render, knows: () => false, call: () => null } satisfies PythonModules);
  const files = {
    environments: ['base'],
    read: () => text,
    list: () => [],
    place: (env: string, path: string) => `/srv/${env}/${path}`,
  };
  const ports = {
    files,
    python,
    outside: { now: () => 0, random: () => 0 },
    functions: () => new Map(),
    log: (_level: string, line: string) => void log.push(line),
  } as unknown as PillarPorts;
  return {
    log,
    value: () => new SlsRenderer(ports, { ...OPTIONS, ...options }, MINION).render(SOURCE),
  };
}

test("a file may mix Brine's renderers with those of Salt", () => {
  const steps: RenderStep[] = [];
  const text = '#!jinja|lines -x  two|yaml\na: {{ 1 + 1 }}\n';
  const { value } = made(text, (step) => {
    steps.push(step);
    return pyStr(step.input).replace('2', '[b]');
  });
  expect(value()).toEqual(mapOf({ a: ['b'] }));
  const { saltenv, sls, defaults } = SOURCE;
  const file = '/srv/base/a/init.sls';
  const input = '#!jinja|lines -x  two|yaml\na: 2\n';
  expect(steps).toEqual([
    { name: 'lines', argline: '-x two', input, file, saltenv, sls, defaults },
  ]);
});

test('what a renderer raises is the render error of the file', () => {
  const { value } = made('#!py\nx', () => {
    throw new Error('Traceback: x');
  });
  expect(value).toThrow(new RenderError('Traceback: x'));
});

test("a renderer that Salt does not have is as in Salt: an error for Salt's own, else nothing", () => {
  const missing = (): undefined => undefined;
  expect(made('#!mako|yaml\nx', missing).value).toThrow('The renderer "mako" is not available');
  const { value, log } = made('#!mine|yaml\nx', missing);
  expect(value()).toEqual(mapOf({}));
  expect(log).toEqual(['The renderer "mine" is not available']);
});

test('a renderer of Salt that the lists leave out does not run, and the log says so', () => {
  const never = (): SaltValue => {
    throw new Error('it ran');
  };
  for (const lists of [{ rendererBlacklist: ['py'] }, { rendererWhitelist: ['jinja', 'yaml'] }]) {
    const { value, log } = made('#!py|yaml\na: 1\n', never, lists);
    expect(value()).toEqual(mapOf({ a: 1 }));
    expect(log).toEqual(['The renderer "py" is disallowed by configuration and will be skipped.']);
  }
});

test('lists that leave nothing of the own pipe of the master leave no pillar', () => {
  const { value } = made('#!json\n{}', undefined, { rendererBlacklist: ['jinja', 'yaml'] });
  expect(value).toThrow(
    'The renderer jinja|yaml is unavailable, this error is often because the needed software is ' +
      'unavailable',
  );
});

test('without Python the text says how to have it', () => {
  expect(made('#!py\nx').value).toThrow(
    'The renderer "py" is not available; set brine.python to use that of Salt',
  );
});

test.each(['', ' ', '|', 'constructor', '__proto__', 'toString|yaml', 'jinja|', '#!yaml', 'YAML'])(
  'a first line #!%s names no renderer: the file is empty',
  (line) => {
    const { value, log } = made(`#!${line}\na: 1\n`);
    expect(value()).toEqual(mapOf({}));
    expect(log).toHaveLength(1);
  },
);
