/** The escape sequences of a display; all empty without colours. */
export interface Colors {
  readonly darkGray: string;
  readonly red: string;
  readonly lightRed: string;
  readonly green: string;
  readonly lightGreen: string;
  readonly lightYellow: string;
  readonly blue: string;
  readonly lightBlue: string;
  readonly magenta: string;
  readonly lightMagenta: string;
  readonly cyan: string;
  readonly lightGray: string;
  readonly white: string;
  readonly end: string;
}

const ON: Colors = {
  darkGray: '\x1b[0;1;30m',
  red: '\x1b[0;31m',
  lightRed: '\x1b[0;1;31m',
  green: '\x1b[0;32m',
  lightGreen: '\x1b[0;1;32m',
  lightYellow: '\x1b[0;1;33m',
  blue: '\x1b[0;34m',
  lightBlue: '\x1b[0;1;34m',
  magenta: '\x1b[0;35m',
  lightMagenta: '\x1b[0;1;35m',
  cyan: '\x1b[0;36m',
  lightGray: '\x1b[0;37m',
  white: '\x1b[0;1;37m',
  end: '\x1b[0;0m',
};

const OFF: Colors = {
  darkGray: '',
  red: '',
  lightRed: '',
  green: '',
  lightGreen: '',
  lightYellow: '',
  blue: '',
  lightBlue: '',
  magenta: '',
  lightMagenta: '',
  cyan: '',
  lightGray: '',
  white: '',
  end: '',
};

/** The colours of a display (Salt: salt/utils/color.py, without themes). */
export function colorsOf(on: boolean): Colors {
  return on ? ON : OFF;
}
