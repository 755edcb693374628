export { getFromMine, knownMinions } from '../aes/mine.ts';
export { expectedMinions } from '../clear/expected-minions.ts';
export { callerNow } from '../clear/kept-caller.ts';
export type { KeyAct } from '../clear/key-acts.ts';
export { changeKeys, installKey, listKeys, matchKeys, textsOfKeys } from '../clear/key-acts.ts';
export { publishFor } from '../clear/publish.ts';
export { announce, runAndTell, tellOutcome } from '../clear/special.ts';
