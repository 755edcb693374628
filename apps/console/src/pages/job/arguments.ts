/** Arguments of a job as a person would type them: `nginx test=True`. */
export function argumentTexts(arg: readonly unknown[]): readonly string[] {
  return arg.flatMap((one) => {
    if (!isKeywords(one)) return [valueText(one)];
    return Object.entries(one)
      .filter(([name]) => name !== '__kwarg__')
      .map(([name, value]) => `${name}=${valueText(value)}`);
  });
}

/** A value in one line. Texts are as they are: Salt reads `3` and `true` as what they look like. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === true) return 'True';
  if (value === false) return 'False';
  return value === undefined ? '' : JSON.stringify(value);
}

function isKeywords(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Readonly<Record<string, unknown>>)['__kwarg__'] === true
  );
}
