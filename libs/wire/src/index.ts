export { Refusal, RefusalText, WireError } from './errors.ts';
export { unpack } from './msgpack/decode.ts';
export { pack } from './msgpack/encode.ts';
export { DEFAULT_MAX_DEPTH } from './msgpack/limits.ts';
export { MapScan, scanMap } from './msgpack/scan.ts';
export { appendField, cutFields, unpackMap } from './msgpack/splice.ts';
export { checkNames, checkQuestion, isName } from './names.ts';
export { PackedMaps } from './packed-maps.ts';
export { SALT_RELEASE } from './salt-release.ts';
export { storableText } from './storable.ts';
export { trimEvent, VALUE_TRIMMED } from './trim.ts';
export type { Fields, SaltMap, SaltValue } from './value.ts';
export {
  boolOf,
  bytesOf,
  intOf,
  isMap,
  listOf,
  mapIn,
  mapOf,
  SaltDatetime,
  SaltFloat,
  SaltTuple,
  textOf,
} from './value.ts';
