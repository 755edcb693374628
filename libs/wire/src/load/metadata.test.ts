import { expect, it } from 'vitest';
import { mapOf } from '../value.ts';
import { metadataOf } from './metadata.ts';

const TICKET = mapOf({ ticket: 'T1' });
const OTHER = mapOf({ ticket: 'T2' });
const KEYWORDS = mapOf({ __kwarg__: true, metadata: OTHER });

it.each([
  ['none', mapOf({ arg: ['metadata'], kwargs: mapOf({}) }), undefined],
  ['of the load', mapOf({ metadata: TICKET }), TICKET],
  ['of its keyword arguments', mapOf({ kwargs: mapOf({ metadata: TICKET }) }), TICKET],
  ['as an argument of the function', mapOf({ arg: ['web', KEYWORDS] }), OTHER],
  ['twice, the first counts', mapOf({ metadata: TICKET, arg: [KEYWORDS] }), TICKET],
  ['as a value of the function', mapOf({ arg: [mapOf({ metadata: TICKET })] }), undefined],
])('metadata of a job: %s', (_name, load, metadata) => {
  expect(metadataOf(load)).toEqual(metadata);
});
