/** A return as text: a text as it is, anything else as JSON of several lines. */
export function returnText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, undefined, 2) ?? 'null';
}

/** What the function of a job gave, in the load of a return. */
export function givenOf(load: unknown): unknown {
  if (typeof load !== 'object' || load === null || !('return' in load)) return load;
  return load.return;
}
