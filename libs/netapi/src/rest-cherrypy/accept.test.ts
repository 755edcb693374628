import { expect, test } from 'vitest';
import { NetapiError } from '../errors.ts';
import { acceptedType } from './accept.ts';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/x-yaml';

const WANTED: readonly (readonly [string | undefined, string])[] = [
  [undefined, JSON_TYPE],
  ['', JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/*', JSON_TYPE],
  [JSON_TYPE, JSON_TYPE],
  ['APPLICATION/JSON', JSON_TYPE],
  [YAML_TYPE, YAML_TYPE],
  ['application/json;q=0.5, application/x-yaml', YAML_TYPE],
  ['application/json;q=0, */*', JSON_TYPE],
  ['text/html, application/x-yaml;q=0.2', YAML_TYPE],
  ['application/x-yaml ; q = 0.9 , application/json;q=0.8', YAML_TYPE],
  ['application/json; q=x', JSON_TYPE],
  ['text/html,*/*;q=0.1', JSON_TYPE],
];

test.each(WANTED)('%s is answered in %s', (accept, type) => {
  expect(acceptedType(accept)).toBe(type);
});

test.each(['text/html', 'application/xml', '*', 'json', ';', ',', 'application/json;q=0', '/'])(
  '%s is refused with 406',
  (accept) => {
    expect(() => acceptedType(accept)).toThrow(NetapiError);
    expect(() => acceptedType(accept)).toThrow(`sent this Accept header: ${accept}.`);
  },
);

test('of a very long header only the first entries count', () => {
  const long = `${Array.from({ length: 5_000 }, (_, at) => `a/${at}`).join(',')},${JSON_TYPE}`;
  expect(() => acceptedType(long)).toThrow(NetapiError);
});
