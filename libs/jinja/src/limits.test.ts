import { cpuMs } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import { renderTemplate } from './index.ts';

const outside = {
  now: () => 0,
  random: () => 0,
  load: (name: string) => (name === 'self' ? "{% include 'self' %}" : undefined),
};
const limits = { steps: 10_000, output: 10_000, depth: 20 };

function render(template: string): string {
  return renderTemplate(template, { variables: new Map(), outside, limits });
}

test.each([
  [
    'a loop in a loop',
    '{% for a in range(1000) %}{% for b in range(1000) %}x{% endfor %}{% endfor %}',
  ],
  ['output', "{% for a in range(20) %}{{ 'x' * 1000 }}{% endfor %}"],
  ['a macro that calls itself', '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}'],
  ['a block that calls itself', '{% block b %}{{ self.b() }}{% endblock %}'],
  ['a template that includes itself', "{% include 'self' %}"],
  ['a huge text', "{{ 'x' * 100000000 }}"],
  ['a huge list', '{{ ([0] * 100000000)|length }}'],
  ['a huge number', '{{ 9 ** 99999999 }}'],
  ['an expression that runs away', "{{ ('a' * 64) is match('(a|a)*\\\\1b') }}"],
  [
    'expressions that take long one after the other',
    "{% for a in range(500) %}{{ ('a' * 900) is match('(a|a)*b') }}{% endfor %}",
  ],
  ['a batch that is filled up', "{{ [1]|batch(1000000000, 'x') }}"],
  ['all orders of a list', '{{ range(30)|permutations }}'],
  ['much text that fills pages', '{{ lipsum(1001)|length }}'],
  ['much empty text that fills pages', '{{ lipsum(10 ** 9, false, -1, 0)|length }}'],
  ['a wide indent', "{{ ('a\\n' * 9000)|indent(9000) }}"],
  ['wide tabs', "{{ ('\\t' * 9000).expandtabs(9000) }}"],
  [
    'queries that take long one after the other',
    '{% set l = range(100)|list %}{% for a in range(20) %}' +
      "{% set b = l|json_query('[*].[@, @, @, @, @]') %}{% endfor %}",
  ],
  [
    'a query that doubles its list each time',
    "{{ [1]|json_query('[@, @][] | ' * 40 ~ '@')|length }}",
  ],
  [
    'addresses in networks',
    "{% set a = (['10.0.0.1'] * 500)|filter_by_networks(['10.0.0.0/8'] * 500) %}",
  ],
  ['all orders of a list with repeats', '{{ range(30)|combinations_with_replacement(20) }}'],
  ['a huge random text', '{{ 100000000|random_str }}'],
  ['a huge network', "{{ ['10.0.0.0/17', '10.0.0.0/17', '10.0.0.0/17']|network_hosts }}"],
  [
    'a list that grows under its loop',
    '{% set l = [1] %}{% for i in l %}{% do l.append(1) %}{% endfor %}',
  ],
])('%s ends in an error', (_name, template) => {
  expect(() => render(template)).toThrow(expect.objectContaining({ kind: 'Limit' }));
});

test.each([
  ['tags', '', '{% if 1 %}'],
  ['parentheses', '{{ ', '('],
  ['lists', '{{ ', '['],
  ['signs', '{{ ', '-'],
  ['targets', '{% set ', '('],
])('%s nested 10,000 times are an error at once', (_name, start, more) => {
  const deep = start + more.repeat(10_000);
  const before = cpuMs();
  expect(() => render(deep)).toThrow(
    expect.objectContaining({ kind: 'Syntax', message: 'nested too deeply' }),
  );
  expect(cpuMs() - before).toBeLessThan(2_000);
});

test('sets of many values, equal ones among them, do not take long', () => {
  const values = "range(9000)|map('string')|list";
  const lists = `{% set a = ${values} %}{% set b = a|map('replace', '1', 'x')|list %}`;
  const rows = '{% set c = a|batch(2)|list %}';
  const sizes =
    '{{ a|symmetric_difference(b)|length }} {{ c|unique|length }} {{ c|union(c)|length }}';
  const before = cpuMs();
  const text = renderTemplate(lists + rows + sizes, { variables: new Map(), outside });
  expect(text).toMatch(/^\d+ 4500 4500$/);
  expect(cpuMs() - before).toBeLessThan(2_000);
});

test('a template within the limits renders', () => {
  expect(render('{% for a in range(100) %}x{% endfor %}')).toBe('x'.repeat(100));
});
