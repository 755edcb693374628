import type { MasterFunction } from '@brine/api/site';
import { Button, Group, SimpleGrid, TextInput } from '@mantine/core';
import { FIXED } from '../../parts/fixed-text.ts';
import { argumentsForm, keywordIn, withArgument } from '../../state/run/arguments-form.ts';
import { typedValue, typeName } from '../../state/run/typed-value.ts';

interface ArgumentsProps {
  readonly words: readonly string[];
  readonly parameters: MasterFunction['parameters'];
  readonly onChange: (words: readonly string[]) => void;
}

/** The arguments: a field for each parameter of the function, and for each further word. */
export function Arguments({ words, parameters, onChange }: ArgumentsProps) {
  const { values, more } = argumentsForm(words, parameters);
  return (
    <>
      {parameters.length > 0 && (
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm" mt="xs">
          {parameters.map(({ name, required, default: usual }) => (
            <Word
              key={name}
              label={name}
              required={required}
              placeholder={usual ?? ''}
              text={values.get(name) ?? ''}
              onChange={(text) => onChange(withArgument(words, parameters, name, text))}
            />
          ))}
        </SimpleGrid>
      )}
      {more.map((index, place) => (
        <Group key={index} align="start" gap="xs" mt="xs" wrap="nowrap">
          <Word
            label={`Further argument ${place + 1}`}
            placeholder="value, or name=value"
            text={words[index] ?? ''}
            onChange={(text) => onChange(words.with(index, text))}
            isWord
          />
          <Button
            variant="default"
            size="sm"
            mt={24}
            aria-label={`Take out further argument ${place + 1}`}
            onClick={() => onChange(words.filter((_, at) => at !== index))}
          >
            Take out
          </Button>
        </Group>
      ))}
      <Button
        variant="default"
        size="compact-sm"
        my="xs"
        onClick={() => onChange([...words, ''])}
        disabled={words.at(-1) === ''}
      >
        Add an argument
      </Button>
    </>
  );
}

interface WordProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly required?: boolean;
  /** It may have its name before its value. */
  readonly isWord?: boolean;
}

/** A field whose text is read as the command line reads it. */
function Word({ label, placeholder, text, onChange, required = false, isWord }: WordProps) {
  const value = isWord === true ? (keywordIn(text)?.[1] ?? text) : text;
  const meant = typedValue(value);
  const type = meant.kind === 'value' && value !== '' ? typeName(meant.value) : undefined;
  return (
    <TextInput
      label={label}
      withAsterisk={required}
      placeholder={placeholder}
      value={text}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={meant.kind === 'problem' ? meant.text : undefined}
      description={type === undefined ? undefined : `sent as ${type}`}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      styles={FIXED}
      flex={1}
      spellCheck={false}
      autoComplete="off"
    />
  );
}
