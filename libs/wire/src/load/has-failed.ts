import { type Fields, isMap, type SaltValue } from '../value.ts';

/** True for a retcode other than 0 or a false success, in any function of a compound job. */
export function hasFailed(load: Fields): boolean {
  return anyOf(load.get('retcode'), isFailure) || anyOf(load.get('success'), (v) => v === false);
}

function isFailure(retcode: SaltValue): boolean {
  if (typeof retcode === 'number' || typeof retcode === 'bigint') return Number(retcode) !== 0;
  return retcode === true;
}

function anyOf(value: SaltValue | undefined, test: (value: SaltValue) => boolean): boolean {
  if (value === undefined) return false;
  if (Array.isArray(value)) return value.some(test);
  if (isMap(value)) return [...value.values()].some(test);
  return test(value);
}
