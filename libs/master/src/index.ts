export { Answerer } from './answer.ts';
export type { KeyAct, KeyChange } from './clear/key-acts.ts';
export { changeKeys, listKeys, matchKeys, textsOfKeys } from './clear/key-acts.ts';
export { MasterUnavailableError } from './errors.ts';
export type {
  AesKeys,
  Autosign,
  MasterKey,
  MinionKey,
  MinionKeys,
  SessionKeys,
  StoredMinionKey,
  Syndics,
} from './ports/key-ports.ts';
export type { AccessRules, Logins, TokenRecord, Tokens } from './ports/login-ports.ts';
export type {
  Answer,
  AnswerAbout,
  AuditRecord,
  Events,
  EventToAppend,
  FunctionCall,
  FunctionOutcome,
  JobQueries,
  MasterFunctions,
  MasterOptsReply,
  MasterPorts,
  MasterRules,
  MinionData,
  Pillars,
  Publications,
  RefusedWork,
  ReturnToTrace,
  StoredMinionData,
  UserKeys,
} from './ports/ports.ts';
export type { Begun, ExternalTops, Mines, Once, ServedPorts } from './ports/served-ports.ts';
