/** Variables that modules in Python get. Others may hold passwords of the master's services. */
const KEPT = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ', 'LANG', 'LANGUAGE'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'LD_LIBRARY_PATH'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
]);

/** The environment of modules in Python, out of that of this process. */
export function pythonEnvironment(
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && (KEPT.has(name) || name.startsWith('LC_'))) kept[name] = value;
  }
  // Output of another encoding would end a module at its first print.
  return { ...kept, PYTHONIOENCODING: 'utf-8:replace' };
}
