export { LIMITS } from '../rpc/limits.ts';
export { FairShare, ShareExceededError } from './fair-share.ts';
