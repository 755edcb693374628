import { LEDGER_SIGNS, type LedgerState } from '../state/ledger.ts';
import classes from './state-sign.module.css';

/** A state of the ledger: its shape, then its word. */
export function StateSign({ state, word = LEDGER_SIGNS[state].word }: StateSignProps) {
  return (
    <span className={`${classes['sign']} ${classes[state]}`}>
      <span aria-hidden>{LEDGER_SIGNS[state].shape}</span> {word}
    </span>
  );
}

interface StateSignProps {
  readonly state: LedgerState;
  /** Instead of the word of the state. */
  readonly word?: string;
}
