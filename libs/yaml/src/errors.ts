/** A text that PyYAML would refuse to load. */
export class YamlLoadError extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options);
    this.name = 'YamlLoadError';
  }
}
