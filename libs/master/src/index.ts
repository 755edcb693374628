export { getFromMine, knownMinions } from './aes/mine.ts';
export { Answerer } from './answer.ts';
export { expectedMinions } from './clear/expected-minions.ts';
export { callerNow } from './clear/kept-caller.ts';
export type { KeyAct } from './clear/key-acts.ts';
export { changeKeys, installKey, listKeys, matchKeys, textsOfKeys } from './clear/key-acts.ts';
export { publishFor } from './clear/publish.ts';
export { runAndTell, tellOutcome } from './clear/special.ts';
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
  BankName,
  BatchOrder,
  Events,
  EventToAppend,
  FunctionCall,
  FunctionOutcome,
  JobQueries,
  MasterFunctions,
  MasterOptsReply,
  MasterPorts,
  MasterRules,
  MinionBanks,
  MinionData,
  Pillars,
  Publications,
  RefusedWork,
  ReturnToTrace,
  StoredMinionData,
  UserKeys,
} from './ports/ports.ts';
export type { Begun, ExternalTops, Mines, Once, ServedPorts } from './ports/served-ports.ts';
