import { TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';

/** A filter waits for the end of the typing, ms. */
const TYPING_MS = 300;

interface FilterTextProps extends Omit<
  TextInputProps,
  'value' | 'defaultValue' | 'onChange' | 'size'
> {
  /** What the address has. */
  readonly value: string | undefined;
  /** Gets the text without spaces around it, once the typing has ended. */
  readonly onChange: (text: string) => void;
}

/**
 * A text by which a list is chosen. Each field waits for its own typing, so that two in a row both
 * count. It follows the address where that changes in another way: back, a link, a cleared filter.
 */
export function FilterText({ value = '', onChange, ...rest }: FilterTextProps) {
  const [text, setText] = useState(value);
  const [seen, setSeen] = useState(value);
  const [sent, setSent] = useState(value);
  if (value !== seen) {
    setSeen(value);
    if (value !== sent) {
      setSent(value);
      setText(value);
    }
  }
  const send = useDebouncedCallback((given: string) => {
    setSent(given);
    onChange(given);
  }, TYPING_MS);
  return (
    <TextInput
      {...rest}
      size="xs"
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        send(currentTarget.value.trim());
      }}
    />
  );
}
