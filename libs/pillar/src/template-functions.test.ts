import { renderTemplate } from '@brine/jinja';
import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { templateFunctions } from './template-functions.ts';

function rendered(template: string, opts = mapOf({})): string {
  const grains = mapOf({ os: 'Debian', roles: ['web', 'db'] });
  const pillar = mapOf({
    map: mapOf({ x: 1, l: [1, 2] }),
    list: [1, true, 'a'],
    text: 't',
    none: null,
  });
  const salt = templateFunctions({ grains, pillar, opts }, new Map());
  const outside = { now: () => 0, random: () => 0, load: () => undefined };
  return renderTemplate(template, { variables: new Map([['salt', salt]]), outside }).trim();
}

// What salt/modules/pillar.py makes of the same.
test.each([
  ["'map', {'x': 0, 'y': 2}, merge=True", "{'x': 1, 'y': 2, 'l': [1, 2]}"],
  ["'map', {'l': [3]}, merge=True", "{'l': [1, 2], 'x': 1}"],
  ["'map', {'l': [3]}, merge=True, merge_nested_lists=True", "{'l': [3, 1, 2], 'x': 1}"],
  ["'map:x', 'd', delimiter='|'", 'd'],
  ["'map', {'y': 2}, True, None, ':'", "{'y': 2, 'x': 1, 'l': [1, 2]}"],
  ["'list', [1, 'b'], merge=True", "[1, 'b', 'a']"],
  ["'list', {'a': 1}, merge=True", "[1, True, 'a']"],
  ["'text', {'a': 1}, merge=True", 't'],
  ["'none', {'a': 1}, merge=True", 'None'],
  ["'nope', {'a': 1}, merge=True", "{'a': 1}"],
  ["'map', 'd', merge=True", "{'x': 1, 'l': [1, 2]}"],
])('pillar.get(%s)', (args, shown) => {
  expect(rendered(`{{ salt['pillar.get'](${args}) }}`)).toBe(shown);
});

test('lists of a merged default follow pillar_merge_lists', () => {
  const template =
    "{{ salt['pillar.get']('map:l', [3], merge=True) }}" +
    "{{ salt['pillar.get']('map', {'l': [3]}, merge=True).l }}";
  expect(rendered(template, mapOf({ pillar_merge_lists: true }))).toBe('[3, 1, 2][3, 1, 2]');
  expect(rendered(template)).toBe('[3, 1, 2][1, 2]');
});

test.each([
  ["{{ salt['pillar.item']('map:x', 'nope') }}", "{'map:x': 1, 'nope': ''}"],
  [
    "{{ salt['pillar.item']('map|x', 'nope', default=5, delimiter='|') }}",
    "{'map|x': 1, 'nope': 5}",
  ],
  ["{{ salt['pillar.keys']('map') }}", "['x', 'l']"],
  ["{{ salt['pillar.items']().map.x }}{{ salt['pillar.items']()['text'] }}", '1t'],
  ["{{ salt['pillar.ls']() }}", "['map', 'list', 'text', 'none']"],
  ["{{ salt['pillar.raw']('text') }}{{ salt['pillar.raw']('nope') }}", 't{}'],
  ["{{ salt['pillar.filter_by']({'t*': 1, 'default': 2}, pillar='text') }}", '1'],
  ["{{ salt['grains.item']('os', 'roles:1') }}", "{'os': 'Debian', 'roles:1': 'db'}"],
  ["{{ salt['grains.has_value']('os') }}{{ salt['grains.has_value']('nope') }}", 'TrueFalse'],
  ["{{ salt['grains.ls']() }}", "['os', 'roles']"],
  ["{{ salt['config.get']('os|x', 'd', '|') }}", 'd'],
  [
    "{% set d = {'a': {'x': 1}} %}{% do salt['slsutil.update'](d, {'a': {'y': 2}}) %}{{ d }}",
    "{'a': {'x': 1, 'y': 2}}",
  ],
  [
    "{% set d = {'a': {'x': 1}} %}" +
      "{% do salt['slsutil.update'](d, {'a': {}}, recursive_update=False) %}{{ d }}",
    "{'a': {}}",
  ],
  [
    "{% set d = {'a': [1]} %}" +
      "{% do salt['defaults.merge'](d, {'a': [2]}, merge_lists=True) %}{{ d }}",
    "{'a': [1, 2]}",
  ],
  [
    "{% set d = {'a': 1} %}{% do salt['defaults.merge'](d, {'a': 2}, in_place=False) %}{{ d }}",
    "{'a': 1}",
  ],
  ["{{ salt['defaults.merge']({'a': 1}, none) }}", "{'a': 1}"],
  ["{{ salt['grains.filter_by']({'zz': {'a': 1}}, base='zz', default='nope') }}", "{'a': 1}"],
])('%s', (template, shown) => {
  expect(rendered(template)).toBe(shown);
});

test.each([
  ["{{ salt['pillar.get']() }}", "get() missing 1 required positional argument: 'key'"],
  ["{{ salt['test.echo']('a', 'b') }}", 'echo() takes 1 positional argument but 2 were given'],
  ["{{ salt['pillar.keys']('nope') }}", "'Pillar key not found: nope'"],
  ["{{ salt['pillar.keys']('text') }}", 'Pillar value in key text is not a dict'],
  ["{{ salt['defaults.merge'](none, {}) }}", "Can't perform in-place merge into NoneType"],
  [
    "{{ salt['slsutil.merge']({}, [1]) }}",
    'Cannot update using non-dict types in dictupdate.update()',
  ],
  ["{{ salt['grains.filter_by'](['x']) }}", "'list' object has no attribute 'get'"],
  [
    "{{ salt['grains.filter_by']({'default': {}}, merge=['x']) }}",
    'filter_by merge argument must be a dictionary.',
  ],
  [
    "{{ salt['grains.filter_by']({'default': 1, 'b': {'a': 1}}, base='b') }}",
    'filter_by default and look-up values must both be dictionaries.',
  ],
  [
    "{{ salt['no.such']() }}",
    "'salt.utils.templates.AliasedLoader object' has no attribute 'no.such'",
  ],
])('%s fails in the words of Salt', (template, words) => {
  expect(() => rendered(template)).toThrow(words);
});
