const named = (library: string, names: string): readonly string[] =>
  names.split(' ').map((name) => `${library}.${name}`);

/** Exported functions that read nothing from others, or only what was read and bounded before. */
export const NOT_FOR_STRANGERS: Readonly<Record<string, readonly string[]>> = {
  errors: [
    ...named('crypt', 'CryptError'),
    ...named('eauth', 'LoginError'),
    ...named('jinja', 'JinjaError'),
    ...named('target', 'RegexError WorkError'),
    ...named('wire', 'Refusal WireError'),
    ...named('yaml', 'YamlLoadError YamlWorkError'),
  ],
  bounds: ['target.Work', 'yaml.YamlWork'],
  'what a host gives to templates': named(
    'jinja',
    'NamedDict PyFunction PyObject bind bindFilter Undefined',
  ),
  'what an operator writes': [...named('yaml', 'loadYamlFile'), ...named('wire', 'strftime')],
  'what is written for an operator': named('yaml', 'YamlEmitter doubleQuoted singleQuoted'),
  'what the master makes for itself': [
    ...named('crypt', 'AuditSeal cryptoInUse digestOf hexDigestOf issueCertificate makeAuthority'),
    ...named('crypt', 'minionToken newKeyString RecordMac SealedText'),
    ...named('job', 'JidMaker durableTtl'),
    ...named('wire', 'wallClock'),
  ],
  'what a master keeps of its own jobs': named(
    'job',
    'causeOfSilence confirmDurable durablePieces noteLogIns openDurable Outstanding stepDurable',
  ),
  'tags and traces of what was judged before': named(
    'job',
    'jobErrorTag jobNewTag jobProgressTag jobPublishTag jobReturnTag jobSubErrorTag hookTag ' +
      'minionStartTag syndicStartTag jidStartTime jidTimeMs publishingPart requestSpanIdOf ' +
      'requestTraceIdOf spanIdOf traceIdOf traceparentOf',
  ),
  'a look at one value': [
    ...named('crypt', 'SerialMemory'),
    ...named('eauth', 'everybody sharedSecret'),
    ...named('jinja', 'isDict isList truth'),
    ...named('job', 'isEventKind isJobOrigin'),
    // An address of a socket, from the kernel.
    ...named('target', 'networkOf'),
    ...named('wire', 'SaltDatetime SaltFloat SaltTuple boolOf bytesOf intOf isMap isNumber'),
    // Alternatives of an anchored name, without a repeat that could begin twice.
    ...named('wire', 'hasFailed hasRunEntry hasSecretArguments hasSecretReturn withoutCredentials'),
    ...named('wire', 'isTruthy listOf mapIn mapOf metadataOf pyBrackets pyFloat textOf typeName'),
  ],
  // Templates reach them behind the bounds of jinja; its inputs try `"%9999s" % v` and the like.
  'what writes a value in a format': named(
    'wire',
    'formatNumber percentFields percentNumber percentText',
  ),
  // They join fields and pack them, as `pack` does.
  'what is sent': named(
    'wire',
    'aesEnvelope buildAuth buildAuthAccept buildAuthVerdict buildErrorReply ' +
      'buildMinionEvent buildMinionEvents buildNewJob buildPillar buildPrivateData ' +
      'buildRunEntry buildServeFile endsRun ' +
      'buildPrivateReply buildPublish buildPublishReply buildPublishedJob buildReturn ' +
      'buildSignedPrivate buildSyndicReturn clearEnvelope clearReply eventStamp ' +
      'ipcFrame packEvent publicationEnvelope refusalReply signedReply',
  ),
};
