import type { ScheduleActInput } from '@brine/api/runs';
import { actOnSchedule } from '../../api/schedule.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Given } from '../../parts/given.tsx';
import { When } from '../../parts/when.tsx';

/** What one is about to do. Postponing is for the command line. */
export type Intent = Exclude<ScheduleActInput, { readonly act: 'postpone' }>;

interface ScheduleConfirmProps {
  readonly intent: Intent;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks before the schedule is changed. */
export function ScheduleConfirm({ intent, onDone, onClose }: ScheduleConfirmProps) {
  const { title, label } = WORDS[intent.act];
  return (
    <Confirm
      title={title}
      label={label}
      isDangerous={intent.act === 'disable'}
      act={() => actOnSchedule(intent)}
      onDone={onDone}
      onClose={onClose}
    >
      <What intent={intent} />
    </Confirm>
  );
}

const WORDS = {
  run: { title: 'Run now?', label: 'Run now' },
  skip: { title: 'Leave out the next time?', label: 'Leave it out' },
  enable: { title: 'Switch on?', label: 'Switch on' },
  disable: { title: 'Switch off?', label: 'Switch off' },
} as const;

function What({ intent }: { readonly intent: Intent }) {
  const { name } = intent;
  if (name === undefined) {
    const ends = intent.act === 'disable' ? 'runs nothing of its schedule any more' : 'runs it';
    return <>The master {ends}, until it is switched again.</>;
  }
  const job = <Given text={name} />;
  switch (intent.act) {
    case 'run':
      return (
        <>
          {job} runs once, now.{intent.force === true && ' It stays switched off.'}
        </>
      );
    case 'skip':
      return (
        <>
          {job} does not run at its next time, <When time={intent.at} />.
        </>
      );
    case 'enable':
      return <>{job} runs at its times again.</>;
    case 'disable':
      return <>{job} does not run until it is switched on again.</>;
  }
}
