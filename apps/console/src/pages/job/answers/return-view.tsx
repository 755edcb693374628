import { Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Given, GivenLines, shown } from '../../../parts/given.tsx';
import { duration } from '../../../state/times.ts';
import { returnText } from './return-text.ts';
import classes from './return-view.module.css';
import {
  oddFirst,
  OUTCOME_SIGNS,
  type StateLine,
  type StateOutcome,
  stateRunOf,
} from './state-run.ts';

/** States of one return that are drawn. */
const STATES_MAX = 300;
const COMMENT_MAX = 2_000;

interface ReturnViewProps {
  /** What the function gave. */
  readonly value: unknown;
  /** Who gave it, for the label. */
  readonly id: string;
  /** Only states that are not simply ok; the others are counted. */
  readonly isShort?: boolean;
}

/** What a minion returned, as one can read it. */
export function ReturnView({ value, id, isShort = false }: ReturnViewProps) {
  const run = stateRunOf(value);
  if (run !== undefined) return <StateRunView run={run} isShort={isShort} />;
  return (
    <Scrolled label={`Return of ${shown(id, 100)}`} isShort={isShort}>
      <GivenLines text={returnText(value)} />
    </Scrolled>
  );
}

/** A part that scrolls by itself, by keys too. */
export function Scrolled({
  label,
  isShort = false,
  children,
}: {
  readonly label: string;
  readonly isShort?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <div
      role="region"
      aria-label={label}
      // A part that scrolls can be reached by keys.
      tabIndex={0}
      className={isShort ? classes['short'] : classes['text']}
    >
      {children}
    </div>
  );
}

/** The sign of what a state came to, with its word. */
export function OutcomeSign({ outcome }: { readonly outcome: StateOutcome }) {
  const { shape, word } = OUTCOME_SIGNS[outcome];
  return (
    <span className={`${classes['outcome']} ${classes[outcome]}`}>
      <span aria-hidden>{shape}</span> {word}
    </span>
  );
}

function StateRunView({
  run,
  isShort,
}: {
  readonly run: readonly StateLine[];
  readonly isShort: boolean;
}) {
  const lines = isShort ? oddFirst(run) : run;
  return (
    <>
      <Text size="sm">
        {run.length} states: {countsOf(run)}
      </Text>
      {lines.length > 0 && (
        <Table.ScrollContainer minWidth={500}>
          <Table aria-label="States">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Result</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Comment and changes</Table.Th>
                <Table.Th>Time</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {lines.slice(0, STATES_MAX).map((line) => (
                <StateRow key={line.key} line={line} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {lines.length > STATES_MAX && (
        <Text size="sm">{lines.length - STATES_MAX} more states are in the tab Raw.</Text>
      )}
    </>
  );
}

function StateRow({ line }: { readonly line: StateLine }) {
  const { name, outcome, comment, changes, durationMs } = line;
  return (
    <Table.Tr>
      <Table.Td>
        <OutcomeSign outcome={outcome} />
      </Table.Td>
      <Table.Td>
        <Given text={name} />
      </Table.Td>
      <Table.Td>
        <GivenLines text={comment.slice(0, COMMENT_MAX)} />
        {changes !== '' && <GivenLines text={changes.slice(0, COMMENT_MAX)} />}
      </Table.Td>
      <Table.Td className="number">{duration(durationMs)}</Table.Td>
    </Table.Tr>
  );
}

function countsOf(run: readonly StateLine[]): string {
  const outcomes: readonly StateOutcome[] = ['failed', 'changed', 'would', 'ok'];
  return outcomes
    .map((one) => ({ one, count: run.filter(({ outcome }) => outcome === one).length }))
    .filter(({ count }) => count > 0)
    .map(({ one, count }) => `${count} ${OUTCOME_SIGNS[one].word}`)
    .join(', ');
}
