import type { Ledger } from '@brine/api/jobs';
import { UnstyledButton } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import {
  LEDGER_ORDER,
  LEDGER_SIGNS,
  ledgerParts,
  ledgerSentence,
  type LedgerState,
} from '../state/ledger.ts';
import classes from './ledger-bar.module.css';
import { StateSign } from './state-sign.tsx';

const NUMBER = new Intl.NumberFormat('en');
/** Before its element has been measured, pixels. */
const WIDTH = 120;

/** The minions of a job by their states, as a bar. */
export function LedgerBar({ counts, width }: { readonly counts: Ledger; readonly width?: number }) {
  const { ref, width: measured } = useElementSize();
  const parts = ledgerParts(counts, width ?? (measured === 0 ? WIDTH : measured));
  return (
    <div
      ref={ref}
      role="img"
      aria-label={ledgerSentence(counts)}
      className={classes['bar']}
      style={width === undefined ? {} : { width }}
    >
      {parts.map((part) => (
        <span
          key={part.state}
          data-state={part.state}
          className={`${classes['part']} ${classes[part.state]}`}
          style={{ width: part.width }}
          title={`${NUMBER.format(part.count)} ${LEDGER_SIGNS[part.state].word}`}
        />
      ))}
    </div>
  );
}

interface LedgerNumbersProps {
  readonly counts: Ledger;
  /** Shows the minions of one state. */
  readonly onPick?: (state: LedgerState) => void;
}

/** The same as numbers with their words; with `onPick` each is a button. */
export function LedgerNumbers({ counts, onPick }: LedgerNumbersProps) {
  return (
    <ul className={classes['numbers']}>
      {LEDGER_ORDER.map((state) => {
        const word = `${NUMBER.format(counts[state])} ${LEDGER_SIGNS[state].word}`;
        const sign = <StateSign state={state} word={word} />;
        return (
          <li key={state} data-state={state} data-count={counts[state]}>
            {onPick === undefined || counts[state] === 0 ? (
              sign
            ) : (
              <UnstyledButton onClick={() => onPick(state)} td="underline">
                {sign}
              </UnstyledButton>
            )}
          </li>
        );
      })}
      <li data-count={counts.targeted}>{NUMBER.format(counts.targeted)} targeted</li>
    </ul>
  );
}
