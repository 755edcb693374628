import { TextInput } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { timeAsked } from '../state/asked-time.ts';

interface TimeFieldProps {
  readonly label: string;
  readonly example: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/**
 * A time or an age, as `/v1` takes them; of events a position too. What is written counts once one
 * leaves the field.
 */
export function TimeField({ label, example, value, onChange }: TimeFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  // It may be chosen elsewhere.
  useEffect(() => {
    if (field.current !== null) field.current.value = value;
  }, [value]);
  const set = (text: string): void => {
    const asked = timeAsked(text, Date.now());
    if (asked !== value) onChange(asked);
  };
  return (
    <TextInput
      ref={field}
      size="xs"
      w={190}
      label={`${label} (UTC)`}
      placeholder={example}
      defaultValue={value}
      maxLength={64}
      onBlur={({ currentTarget }) => set(currentTarget.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Enter') set(currentTarget.value);
      }}
    />
  );
}
