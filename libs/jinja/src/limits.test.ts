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
  ['a template that includes itself', "{% include 'self' %}"],
  ['a huge text', "{{ 'x' * 100000000 }}"],
  ['a huge list', '{{ ([0] * 100000000)|length }}'],
  ['a huge number', '{{ 9 ** 99999999 }}'],
  [
    'a list that grows under its loop',
    '{% set l = [1] %}{% for i in l %}{% do l.append(1) %}{% endfor %}',
  ],
])('%s ends in an error', (_name, template) => {
  expect(() => render(template)).toThrow(expect.objectContaining({ kind: 'Limit' }));
});

test('what stays within the limits renders', () => {
  expect(render('{% for a in range(100) %}x{% endfor %}')).toBe('x'.repeat(100));
});
