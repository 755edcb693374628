declare module 'apache-crypt' {
  /** DES crypt(3) with the salt in the first two characters of a hash. */
  const apacheCrypt: (password: string, hash: string) => string;
  export = apacheCrypt;
}
