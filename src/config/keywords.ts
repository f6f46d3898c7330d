/**
 * The keywords of ssh_config(5), up to OpenSSH 10: those that puressh acts on, with what their arguments mean, those it passes
 * over, and those it refuses, since without them one would connect elsewhere, as somebody else, or less safely than was meant.
 */

import type { JumpHost, StrictHostKeyChecking } from './host_config.ts';
import * as read from './values.ts';

/** What files say, as far as puressh acts on it: as written, before tokens. */
export interface ConfigValues {
  readonly hostName?: string;
  readonly port?: number;
  readonly user?: string;
  readonly identitiesOnly?: boolean;
  readonly identityAgent?: string;
  readonly proxy?: { readonly jump: readonly JumpHost[]; readonly text: string } | { readonly command: string };
  readonly userKnownHosts?: readonly string[];
  readonly globalKnownHosts?: readonly string[];
  readonly strictHostKeyChecking?: StrictHostKeyChecking;
  readonly updateHostKeys?: boolean | 'ask';
  readonly revokedHostKeys?: string;
  readonly hashKnownHosts?: boolean;
  readonly hostKeyAlias?: string;
  readonly requiredRsaSize?: number;
  readonly kex?: string;
  readonly hostKeys?: string;
  readonly ciphers?: string;
  readonly macs?: string;
  readonly signatures?: string;
  readonly connectTimeout?: number;
  readonly serverAliveInterval?: number;
  readonly serverAliveCountMax?: number;
  readonly compression?: boolean;
  readonly forwardAgent?: boolean | string;
  readonly batchMode?: boolean;
  readonly publicKeys?: boolean;
  readonly passwords?: boolean;
  readonly keyboardInteractive?: boolean;
  readonly preferredMethods?: string;
  readonly tag?: string;
}

type Field = keyof ConfigValues;

interface ValueRow<F extends Field> {
  readonly kind: 'value';
  readonly field: F;
  /** How much follows the keyword: one argument, several, or the rest of the line as it is. */
  readonly takes: 'one' | 'many' | 'rest';
  readonly read: read.ReadValue<NonNullable<ConfigValues[F]>>;
}

/** What is done with a keyword. */
export type Keyword =
  | { [F in Field]: ValueRow<F> }[Field]
  | { readonly kind: 'list'; readonly field: 'identityFiles' | 'certificateFiles' }
  | { readonly kind: 'host' | 'match' | 'include' | 'ignore-unknown' | 'ignored' }
  /** Refused, but for values that change nothing; `advice` says what to write. */
  | { readonly kind: 'refused'; readonly harmless: readonly string[]; readonly advice: string };

function value<F extends Field>(
  field: F,
  reader: ValueRow<F>['read'],
  takes: ValueRow<F>['takes'] = 'one',
): { readonly [K in F]: ValueRow<K> }[F] {
  return { kind: 'value', field, takes, read: reader };
}

const table: Readonly<Record<string, Keyword>> = {
  host: { kind: 'host' },
  match: { kind: 'match' },
  include: { kind: 'include' },
  ignoreunknown: { kind: 'ignore-unknown' },
  hostname: value('hostName', read.text),
  port: value('port', read.port),
  user: value('user', read.text),
  tag: value('tag', read.text),
  identityfile: { kind: 'list', field: 'identityFiles' },
  certificatefile: { kind: 'list', field: 'certificateFiles' },
  identitiesonly: value('identitiesOnly', read.flag),
  identityagent: value('identityAgent', read.text),
  proxyjump: value('proxy', (args, bad) => ({ jump: read.jumps(args, bad), text: read.text(args, bad) })),
  proxycommand: value('proxy', (args, bad) => ({ command: read.text(args, bad) }), 'rest'),
  userknownhostsfile: value('userKnownHosts', read.texts, 'many'),
  globalknownhostsfile: value('globalKnownHosts', read.texts, 'many'),
  stricthostkeychecking: value('strictHostKeyChecking', read.strictness),
  updatehostkeys: value('updateHostKeys', read.flagOrAsk),
  revokedhostkeys: value('revokedHostKeys', read.text),
  hashknownhosts: value('hashKnownHosts', read.flag),
  hostkeyalias: value('hostKeyAlias', read.text),
  requiredrsasize: value('requiredRsaSize', read.count),
  kexalgorithms: value('kex', read.algorithms),
  hostkeyalgorithms: value('hostKeys', read.algorithms),
  ciphers: value('ciphers', read.algorithms),
  macs: value('macs', read.algorithms),
  pubkeyacceptedalgorithms: value('signatures', read.algorithms),
  connecttimeout: value('connectTimeout', read.time),
  serveraliveinterval: value('serverAliveInterval', read.time),
  serveralivecountmax: value('serverAliveCountMax', read.count),
  compression: value('compression', read.yesOrNo),
  forwardagent: value('forwardAgent', read.flagOrPath),
  batchmode: value('batchMode', read.flag),
  pubkeyauthentication: value('publicKeys', read.publicKeyFlag),
  passwordauthentication: value('passwords', read.flag),
  kbdinteractiveauthentication: value('keyboardInteractive', read.flag),
  preferredauthentications: value('preferredMethods', read.text),
  knownhostscommand: refused('put the keys into a known_hosts file'),
  pkcs11provider: refused('load the keys into an agent (ssh-add -s)'),
  bindaddress: refused('leave it out, since the address is chosen by the system', []),
  bindinterface: refused('leave it out, since the interface is chosen by the system', []),
  canonicalizehostname: refused('write whole names in HostName', ['no', 'false']),
  refuseconnection: refused('the configuration wants no connection to this host', []),
};

function refused(advice: string, harmless: readonly string[] = ['none']): Keyword {
  return { kind: 'refused', harmless, advice };
}

/** Other names, as OpenSSH has them. */
const aliases: Readonly<Record<string, string>> = {
  dsaauthentication: 'pubkeyauthentication',
  identityfile2: 'identityfile',
  pubkeyacceptedkeytypes: 'pubkeyacceptedalgorithms',
  challengeresponseauthentication: 'kbdinteractiveauthentication',
  skeyauthentication: 'kbdinteractiveauthentication',
  tisauthentication: 'kbdinteractiveauthentication',
  smartcarddevice: 'pkcs11provider',
};

/**
 * Known to OpenSSH, or to that of Apple or Debian, and of no consequence for where, as whom and how safely puressh connects.
 */
const ignored: ReadonlySet<string> = new Set(
  `addkeystoagent addressfamily afstokenpassing canonicaldomains canonicalizefallbacklocal canonicalizemaxdots
  canonicalizepermittedcnames casignaturealgorithms channeltimeout checkhostip cipher clearallforwardings
  compressionlevel connectionattempts controlmaster controlpath controlpersist dynamicforward
  enableescapecommandline enablesshkeysign escapechar exitonforwardfailure fallbacktorsh fingerprinthash
  forkafterauthentication forwardx11 forwardx11timeout forwardx11trusted gatewayports globalknownhostsfile2
  gssapiauthentication gssapiclientidentity gssapidelegatecredentials gssapikexalgorithms gssapikeyexchange
  gssapirenewalforcesrekey gssapiserveridentity gssapitrustdns hostbasedacceptedalgorithms
  hostbasedauthentication hostbasedkeytypes ipqos kbdinteractivedevices keepalive kerberosauthentication
  kerberostgtpassing localcommand localforward loglevel logverbose nohostauthenticationforlocalhost
  numberofpasswordprompts obscurekeystroketiming permitlocalcommand permitremoteopen protocol protocolkeepalives proxyusefdpass
  rekeylimit remotecommand remoteforward requesttty rhostsauthentication rhostsrsaauthentication
  rsaauthentication securitykeyprovider sendenv sessiontype setenv setuptimeout stdinnull streamlocalbindmask
  streamlocalbindunlink syslogfacility tcpkeepalive tunnel tunneldevice usekeychain useprivilegedport userknownhostsfile2
  useroaming usersh verifyhostkeydns versionaddendum visualhostkey warnweakcrypto xauthlocation`
    .trim()
    .split(/\s+/),
);

/** What is done with a keyword, which is in lower case; `undefined` for one that OpenSSH does not know. */
export function keywordOf(name: string): Keyword | undefined {
  const own = Object.hasOwn(aliases, name) ? (aliases[name] as string) : name;
  if (Object.hasOwn(table, own)) return table[own];
  return ignored.has(own) ? { kind: 'ignored' } : undefined;
}

/** The keyword that an older name stands for, or the name itself. */
export function properName(name: string): string {
  return Object.hasOwn(aliases, name) ? (aliases[name] as string) : name;
}
