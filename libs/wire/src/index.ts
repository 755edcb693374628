export { Refusal, RefusalText, WireError } from './errors.ts';
export { unpack } from './msgpack/decode.ts';
export { pack } from './msgpack/encode.ts';
export { MapScan, scanMap } from './msgpack/scan.ts';
export { appendField, cutFields, unpackMap } from './msgpack/splice.ts';
export { checkNames, checkQuestion, isName } from './names.ts';
export { PackedMaps } from './packed-maps.ts';
export { storableText } from './storable.ts';
export { VALUE_TRIMMED, trimEvent } from './trim.ts';
export {
  SaltDatetime,
  SaltFloat,
  boolOf,
  bytesOf,
  intOf,
  isMap,
  listOf,
  mapIn,
  mapOf,
  textOf,
} from './value.ts';
export type { SaltMap, SaltValue } from './value.ts';
