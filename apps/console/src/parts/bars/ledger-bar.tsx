import type { Ledger } from '@brine/api/jobs';
import { UnstyledButton } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { type JobTimes, timeSentence, timeTrack } from '../../state/job/time-track.ts';
import {
  LEDGER_ORDER,
  LEDGER_SIGNS,
  ledgerParts,
  ledgerSentence,
  type LedgerState,
} from '../../state/ledger.ts';
import { StateSign } from '../state-sign.tsx';
import classes from './ledger-bar.module.css';

const NUMBER = new Intl.NumberFormat('en');
/** Before its element has been measured, pixels. */
const WIDTH = 120;

interface LedgerBarProps {
  readonly counts: Ledger;
  readonly width?: number;
  /** Shows the minions of one state. The numbers beside the bar are the same for keys. */
  readonly onPick?: ((state: LedgerState) => void) | undefined;
  /** Of a job that waits for minions. */
  readonly times?: JobTimes | undefined;
}

/** The minions of a job by their states, as a bar; below it, how far the job is in its time. */
export function LedgerBar({ counts, width, onPick, times }: LedgerBarProps) {
  const { ref, width: measured } = useElementSize();
  const parts = ledgerParts(counts, width ?? (measured === 0 ? WIDTH : measured));
  const sentence = ledgerSentence(counts);
  return (
    <div ref={ref} style={width === undefined ? {} : { width }}>
      <div
        role="img"
        aria-label={times === undefined ? sentence : `${sentence}; ${timeSentence(times)}`}
        title={times === undefined ? undefined : timeSentence(times)}
        className={classes['bar']}
      >
        {parts.map((part) => (
          <span
            key={part.state}
            data-state={part.state}
            className={`${classes['part']} ${classes[part.state]}`}
            style={{ width: part.width, cursor: onPick === undefined ? undefined : 'pointer' }}
            title={`${NUMBER.format(part.count)} ${LEDGER_SIGNS[part.state].word}`}
            onClick={() => onPick?.(part.state)}
          />
        ))}
      </div>
      {times !== undefined && <TimeLine times={times} />}
    </div>
  );
}

/** The time that has elapsed, with a mark where past runs ended, and one at the deadline. */
function TimeLine({ times }: { readonly times: JobTimes }) {
  const track = timeTrack(times);
  if (track === undefined) return null;
  const marks = { usual: track.usual, deadline: track.deadline };
  return (
    <div className={classes['time']} title={timeSentence(times)}>
      <span className={classes['elapsed']} style={{ width: percent(track.elapsed) }} />
      {Object.entries(marks).map(
        ([name, place]) =>
          place !== undefined && (
            <span
              key={name}
              className={`${classes['mark']} ${classes[name]}`}
              style={{ insetInlineStart: percent(place) }}
            />
          ),
      )}
    </div>
  );
}

function percent(part: number): string {
  return `${part * 100}%`;
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
