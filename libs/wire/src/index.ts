export { WireError, Refusal, RefusalText } from './errors.ts';
export type { WireErrorCode } from './errors.ts';
export {
  SaltConstant,
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
export { unpack } from './msgpack/decode.ts';
export { pack } from './msgpack/encode.ts';
export type { PackMode } from './msgpack/encode.ts';
export type { UnpackLimits } from './msgpack/limits.ts';
export { MapScan, scanMap } from './msgpack/scan.ts';
export type { ScannedEntry } from './msgpack/scan.ts';
export { PackedMaps } from './packed-maps.ts';
export { appendField, appendPacked, cutFields, unpackMap } from './msgpack/splice.ts';
export {
  DEFAULT_ENC_ALGO,
  DEFAULT_SIG_ALGO,
  aesEnvelope,
  checkLoad,
  clearEnvelope,
  clearReply,
  isIdName,
  peekEnvelope,
  readEnvelope,
  refusalReply,
  signedReply,
} from './envelope.ts';
export type {
  AesEnvelope,
  AesEnvelopeParts,
  ClearEnvelope,
  Envelope,
  EnvelopeClass,
  EnvelopeOptions,
  EnvelopePeek,
} from './envelope.ts';
export { publicationEnvelope, readPublication } from './publication.ts';
export type { Publication } from './publication.ts';
export { packEvent, restampEvent, splitEvent, toBinMap } from './event.ts';
export { VALUE_TRIMMED, trimEvent } from './trim.ts';
export { IpcReader, ipcFrame } from './ipc.ts';
export type { IpcFraming } from './ipc.ts';
export { fromJson, toJson } from './json.ts';
export type { JsonText } from './json.ts';
export { readJson } from './json-read.ts';
export { storableText } from './storable.ts';
export { checkNames, checkQuestion, isName } from './names.ts';
export { pyFloat, pyRepr } from './python-repr.ts';
export {
  buildAuth,
  buildAuthAccept,
  buildAuthVerdict,
  parseAuth,
  parseAuthAnswer,
} from './load/auth.ts';
export type { AuthAccept, AuthAnswer, AuthRequest, AuthVerdict } from './load/auth.ts';
export {
  buildErrorReply,
  buildNewJob,
  buildPublish,
  buildPublishReply,
  buildPublishedJob,
  parsePublish,
  parsePublishedJob,
} from './load/publish.ts';
export type { NewJob, PublishRequest, PublishedJob } from './load/publish.ts';
export { buildReturn, parseReturn } from './load/return.ts';
export type { ReturnLoad } from './load/return.ts';
export { buildMinionEvent, buildMinionEvents, parseMinionEvent } from './load/minion-event.ts';
export type { MinionEvent, MinionEventLoad } from './load/minion-event.ts';
export {
  buildPillar,
  buildPrivateData,
  buildPrivateReply,
  buildSignedPrivate,
  parsePillar,
  parsePrivateData,
  parsePrivateReply,
  parseSignedPrivate,
} from './load/pillar.ts';
export type { PillarRequest, PrivateData } from './load/pillar.ts';
export { buildMine, parseMine, parseMineEntry, parseMineGet } from './load/mine.ts';
export type { MineEntry, MineQuery, MineUpdate } from './load/mine.ts';
export {
  buildFilePiece,
  buildServeFile,
  parseFileList,
  parseFilePath,
  parseFilePiece,
  parseFileReceive,
  parseServeFile,
} from './load/file.ts';
export type {
  FileListRequest,
  FilePathRequest,
  FilePiece,
  FileReceive,
  ServeFileRequest,
} from './load/file.ts';
export { buildToken, parseGetToken, parseMakeToken, parseToken } from './load/token.ts';
export type { MakeTokenRequest, Token } from './load/token.ts';
export { buildSyndicReturn, parseSyndicReturn } from './load/syndic-return.ts';
export type { SyndicJob } from './load/syndic-return.ts';
export {
  compareText,
  isNumber,
  isTruthy,
  pyLength,
  pyStr,
  sortedValues,
  splitLines,
  strip,
  stripEnd,
  stripEscapes,
  typeName,
} from './python-text.ts';
