export {
  parseSigningLines,
  readAutosignGrain,
  readSigningFile,
  takeAutosignStub,
} from './autosign.ts';
export { PkiError } from './errors.ts';
export { confirmKeySync, journalPath, KeyJournal, readKeySyncAlarm } from './journal.ts';
export { ensureKeyDirs, KEY_SHELVES, keyHash, shelfDir } from './key-dirs.ts';
export { KeyStore } from './key-store.ts';
export { KeySync } from './key-sync.ts';
export { loadOrCreateMasterKeys, loadOrCreatePair, masterKeyOptions } from './master-keys.ts';
export { MinionKeyFiles } from './minion-keys.ts';
export { agreedOn, reconcileKey, recordFor, vanishLimit } from './reconcile.ts';
export { ServiceCertificates } from './service-certificates.ts';
export { ShelfWatch } from './watch-shelves.ts';

export type { SigningLines } from './autosign.ts';
export type { PkiErrorCode } from './errors.ts';
export type { KeySyncAlarm } from './journal.ts';
export type { KeyShelf, KeyState } from './key-dirs.ts';
export type { KeyFiles, KeyListing } from './key-store.ts';
export type { KeyRecords, KeySyncOptions, KeySyncStatus } from './ports.ts';
export type { KeyPair, MasterKeyOptions, MasterKeys } from './master-keys.ts';
export type { AgreedKey, KeyDecision, KeyRecord, StoredKey } from './reconcile.ts';
export type {
  AuthorityChange,
  CertificateNames,
  CertificateProblem,
  CertificateStatus,
} from './service-certificates.ts';
