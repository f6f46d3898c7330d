/** The library's errors give advice in terms of its API. Here the same advice becomes the options of the command. */

const wordings: readonly (readonly [RegExp, string])[] = [
  [/\bpin\('(SHA256:[A-Za-z0-9+/=]+)'\)/g, '--pin $1'],
  [/\bpin\(\)/g, '--pin'],
  [/\bacceptNew\(\)/g, '--accept-new'],
  [/\bknownHosts\(\)/g, '--known-hosts'],
  [/\bhave --accept-new remember the key/g, 'let --accept-new remember the key'],
  [/, or algorithms: 'legacy' to allow everything that is weak\b/g, ', or --legacy to allow everything that is weak'],
  [/\ballow that weak one with algorithms: 'legacy'/g, 'allow that weak one with -o PubkeyAcceptedAlgorithms=+ssh-rsa'],
  [/\balgorithms: \{ kex: '([^']+)' \}/g, '--kex $1'],
  [/\balgorithms: \{ hostKeys: '([^']+)' \}/g, '--host-key $1'],
  [/\balgorithms: \{ ciphers: '([^']+)' \}/g, '--cipher $1'],
  [/\balgorithms: \{ macs: '([^']+)' \}/g, '--mac $1'],
  [/\bwhich is not allowed here: write the line without it/g, 'which --match-exec allows'],
  [/\binsecureAcceptAny\(\)/g, '--insecure-accept-any'],
  [/\balgorithms\.kex\b/g, '--kex'],
  [/\balgorithms\.hostKeys\b/g, '--host-key'],
  [/\balgorithms\.ciphers\b/g, '--cipher'],
  [/\balgorithms\.macs\b/g, '--mac'],
  [/\batomic: false writes\b/g, '--in-place writes'],
  [/\bis a directory: give the path of a file\b/g, 'is a directory: give -r, or the path of a file'],
  [
    /\bgive auth another key or method that the server accepts/g,
    'name another key with -i, or give the password, at a terminal or with --password-stdin',
  ],
  [
    /\bgive its passphrase\b(?! at a terminal)/g,
    'its passphrase is asked for at a terminal only; `ssh-add` puts the key into an agent',
  ],
  [/\bset trustEof if that is right/g, 'give --trust-eof if that is right'],
  [/\braise maxOutput, ignore \w+, or read it as a stream with exec\(\)/g, 'run it without --json'],
  [/, or give password\(…, \{ newPassword \}\)/g, ', or at a terminal'],
  [/ \((?:timeouts\.\w+|maxAuthFailures)\)/g, ''],
];

/** `message` with every option of the API named as the command names it. */
export function commandWording(message: string): string {
  return wordings.reduce((text, [pattern, words]) => text.replace(pattern, words), message);
}
