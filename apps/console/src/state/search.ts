/** Reads the query of an address; what comes twice is a list. */
export function parseSearch(text: string): Record<string, string | string[]> {
  const given = new URLSearchParams(text);
  return Object.fromEntries(
    [...new Set(given.keys())].map((name) => {
      const [one = '', ...more] = given.getAll(name);
      return [name, more.length === 0 ? one : [one, ...more]];
    }),
  );
}

/** Writes the query of an address; what is undefined or empty is left out. */
export function searchText(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof one === 'string' && one !== '') params.append(name, one);
    }
  }
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

/** Takes the parameters that a page has, each as one text. Others are dropped. */
export function pick<Name extends string>(
  search: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): { [name in Name]?: string } {
  const found: { [name in Name]?: string } = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === 'string' && value !== '') found[name] = value;
  }
  return found;
}
