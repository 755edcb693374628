import { PyFunction, PyObject, renderTemplate } from '@brine/jinja';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import type { PythonModules } from './ports.ts';
import { pythonFunctions } from './python-functions.ts';
import { templateFunctions } from './template-functions.ts';

interface Called {
  readonly fun: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** Modules with `mine.add` and `mine.fail`. */
class Modules implements PythonModules {
  readonly asked: string[] = [];
  readonly called: Called[] = [];
  error = Object.assign(new Error('no entry'), { python: 'KeyError' });

  knows(fun: string): boolean {
    this.asked.push(fun);
    return fun === 'mine.add' || fun === 'mine.fail';
  }

  call(fun: string, args: readonly SaltValue[], kwargs: SaltMap): SaltValue {
    if (fun === 'mine.fail') throw this.error;
    this.called.push({ fun, args, kwargs });
    return 42;
  }

  render(): undefined {
    return undefined;
  }
}

function rendered(template: string, python?: PythonModules): { text: string; log: string[] } {
  const log: string[] = [];
  const data = { grains: mapOf({ os: 'Linux' }), pillar: mapOf({}), opts: mapOf({}) };
  const ports = { python, log: (_level: string, line: string) => void log.push(line) };
  const further = pythonFunctions(ports, mapOf({}));
  const variables = new Map([['salt', templateFunctions(data, new Map(), further)]]);
  const outside = { now: () => 0, random: () => 0, load: () => undefined };
  return { text: renderTemplate(template, { variables, outside }).trim(), log };
}

test("functions that Brine lacks are Salt's, by both ways to name them", () => {
  const python = new Modules();
  const template = "{{ salt['mine.add'](1, (2, 3), k={'a': none}) }} {{ salt.mine.add() }}";
  expect(rendered(template, python).text).toBe('42 42');
  expect(python.called[0]).toEqual({
    fun: 'mine.add',
    args: [1, [2, 3]],
    kwargs: mapOf({ k: mapOf({ a: null }) }),
  });
});

test("Brine's own functions win, and Python is not asked for them", () => {
  const python = new Modules();
  expect(rendered("{{ salt['grains.get']('os') }}{{ salt.test.ping() }}", python).text).toBe(
    'LinuxTrue',
  );
  expect(python.asked).toEqual([]);
});

test('a name is asked for once, and only a name of a function', () => {
  const python = new Modules();
  const template =
    "{{ 'mine.add' in salt }} {{ 'mine' in salt }} {{ 'no.such' in salt }} " +
    "{{ 'no.such' in salt }} {{ 'a b.c' in salt }} {{ salt['no.such'] is defined }}";
  expect(rendered(template, python).text).toBe('True False False False False False');
  expect(python.asked).toEqual(['mine.add', 'no.such']);
});

test('what a function raises is worded as by Salt', () => {
  const python = new Modules();
  const raising = (): unknown => rendered("{{ salt['mine.fail']() }}", python);
  expect(raising).toThrow(expect.objectContaining({ kind: 'ValueError', message: 'no entry' }));
  python.error = Object.assign(new Error('refused'), { python: 'CommandExecutionError' });
  expect(raising).toThrow(expect.objectContaining({ kind: 'SaltFunction', message: 'refused' }));
});

test('what cannot be sent is no argument', () => {
  const template = "{% macro m() %}{% endmacro %}{{ salt['mine.add'](m) }}";
  expect(() => rendered(template, new Modules())).toThrow('is no argument');
});

test('without Python a missing function is as before, and one line says how to have it', () => {
  const { text, log } = rendered("{{ salt['mine.add'] is defined }}{{ salt.mine is defined }}");
  expect(text).toBe('FalseFalse');
  expect(log).toEqual([
    'a pillar asks for the function mine.add; set brine.python to use that of Salt',
  ]);
});

test('modules of a template are objects with functions', () => {
  const functions = templateFunctions(
    { grains: mapOf({}), pillar: mapOf({}), opts: mapOf({}) },
    new Map(),
    { find: (name) => new PyFunction(name, () => name), anyModule: true },
  );
  const module = functions.get('other');
  expect(module).toBeInstanceOf(PyObject);
  expect((module as PyObject).attributes.get('fun')).toBeInstanceOf(PyFunction);
});
