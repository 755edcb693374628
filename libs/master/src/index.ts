export { Answerer } from './answer.ts';
export { MasterUnavailableError } from './errors.ts';
export type { CommandRecord, Commands } from './ports/command-ports.ts';
export type {
  EventPage,
  EventPages,
  PagedEvent,
  PageFrom,
  PageQuestion,
} from './ports/event-pages.ts';
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
export type { AccessRules, CodeRecord, Logins, TokenRecord, Tokens } from './ports/login-ports.ts';
export type {
  Answer,
  AnswerAbout,
  AuditRecord,
  BankName,
  Events,
  EventToAppend,
  FunctionCall,
  FunctionOutcome,
  JobQueries,
  LocalFunctions,
  MasterOptsReply,
  MasterPorts,
  MasterRules,
  MinionBanks,
  MinionData,
  Pillars,
  Publications,
  RefusedWork,
  ReturnToTrace,
  SharingPeer,
  StoredMinionData,
  UserKeys,
} from './ports/ports.ts';
export type { MinionPresence } from './ports/presence-port.ts';
export type { Begun, ExternalTops, Mines, Once, ServedPorts } from './ports/served-ports.ts';
