/** The help texts. What they say is what `docs/cli.md` explains. */

import type { CommandName } from './args.ts';

const CONNECTION = `Connection:
  -P, --port N               port of the server; default what the configuration says, or 22
  -i, --identity FILE        private key to log in with, instead of the usual keys in ~/.ssh; may be repeated
  -F, --config FILE          ssh_config file, instead of ~/.ssh/config and /etc/ssh/ssh_config; none: no file
  -o, --option KEY=VALUE     a line of ssh_config that comes before any file; may be repeated
  -C, --compress             compress what is sent, and ask for that; worth it on slow lines only
      --match-exec           run the commands of Match exec in those files
      --password-stdin       log in with the password in the first line of standard input
      --known-hosts FILE     trust the host keys in FILE instead of what the configuration says
      --accept-new           trust an unknown host and write its key to the known_hosts file
      --pin SHA256:...       trust exactly this host key; may be repeated
      --insecure-accept-any  trust whoever answers: anyone on the line can read and change everything
      --crypto pure|auto     pure: cryptography in JavaScript only; auto (default): the runtime's where it is faster
      --cipher, --kex, --mac, --host-key NAME[,NAME]
                             algorithms to offer, in this order; +NAME adds to the
                             default ones, ^NAME puts first, -NAME leaves out
      --legacy               offer what is weak, too, behind everything else: for old servers
      --timeout SECONDS      limit for connecting and logging in`;

const TRANSFER = `Transfer:
  -r, --recursive            directories with all that is in them
  -p, --preserve             keep permissions and times
      --resume               go on where an earlier transfer with --resume ended
      --resume-target        go on with the target itself where it is the beginning of the source
      --sparse               blocks of zeros take no room on the disk
      --overwrite always|never|newer|different
                             which files that are there are replaced; default always
      --exclude GLOB         leave out what matches, with -r; may be repeated
      --symlinks skip|follow|copy
                             what becomes of symbolic links, with -r; default skip
      --verify size|hash|content
                             how a file is compared when it is whole; default size
  -R, --requests N           reads or writes pending at once; default 128
      --request-size SIZE    bytes a read or write; default what the server takes
      --json                 print one JSON object about the transfer
  -q, --quiet                no progress line`;

const WINDOW = `      --window SIZE          receive window at first; default 2M. Sizes take k, M and G
      --max-window SIZE      what it may grow to; default 64M`;

const EXIT = `Exit status: 0 every byte arrived; 1 a file or the transfer failed; 2 wrong use; 255 no connection, or it broke;
128 + n ended by signal n.`;

const OVERVIEW = `Usage: puressh <command> [options] [user@]host[:path] ...

  puressh get [user@]host:path ... [local]   download files, or with -r directories; - is standard output
  puressh put local ... [user@]host:path     upload files, or with -r directories; - is standard input
  puressh ls  [user@]host:[path]             list a directory
  puressh run [user@]host command ...        run a command
  puressh sftp [user@]host[:path]            a shell on the files of a server
  puressh serve                              an SFTP server, until Ctrl-C
  puressh keygen action file ...             make, convert, show and certify keys
  puressh keyscan host ...                   the host keys that servers show

puressh <command> --help lists the options; puressh --version prints the version.`;

const GET = `Usage: puressh get [options] [user@]host:path ... [local]

Downloads files. Without local they keep their names; a local directory takes them under those; - is standard output.
Several files need a directory. A path with wildcards, as 'host:logs/*.gz', is every file that matches.
A file appears under its name when all of it is there.

${TRANSFER}
      --trust-eof            take the end of the file for right where the server stated a larger size, as sysfs does
${WINDOW}

${CONNECTION}

${EXIT}`;

const PUT = `Usage: puressh put [options] local ... [user@]host:path

Uploads files; - is standard input. An empty path, one that ends in /, or a directory takes them under their own names.
A file appears under its name when all of it is there.

${TRANSFER}
      --lanes N              channels that one large upload may spread over; default 8
      --append               write behind the end of the remote file
      --in-place             write into the remote file itself, for servers that cannot replace one in a single step
${WINDOW}

${CONNECTION}

${EXIT}`;

const LS = `Usage: puressh ls [options] [user@]host:[path]

Lists a directory, one name a line, sorted; without path the one that the server starts in.

Listing:
  -l, --long                 permissions, owner, size and time before each name
      --json                 print one JSON object with all entries

${CONNECTION}

${EXIT}`;

const RUN = `Usage: puressh run [options] [user@]host command ...

Runs a command; its standard input, output and error are passed through. Everything after the host
belongs to the command.

Run:
  -n, --no-stdin             give the command an empty standard input
      --json                 print one JSON object with what the command wrote, when it has ended

${CONNECTION}

Exit status: that of the command; 128 + n if signal n ended it; 255 if anything else failed.`;

const SFTP = `Usage: puressh sftp [options] [user@]host[:path]

A shell on the files of a server, for a person at a terminal or for commands from a file. help lists its commands.

Shell:
  -b, --batch FILE           run the commands in FILE, - is standard input, up to the first that fails; one that
                             begins with - may fail, one that begins with @ is not shown
  -q, --quiet                no progress, and no commands shown with -b
${WINDOW}

${CONNECTION}

${EXIT}`;

const SERVE = `Usage: puressh serve [options]

An SFTP server for one user, until Ctrl-C. It runs no commands and forwards nothing.

Listen:
      --host HOST            address to listen on; default 127.0.0.1, this machine only; 0.0.0.0 or :: is every one
  -P, --port N               port; default 2022, 0 is any that is free
      --host-key FILE        private key that the server proves itself with; may be repeated; default a new
                             Ed25519 key, another one each time

Files:
      --memory               files in memory, none at the start and gone at the end; this is the default
      --root DIR             the directory DIR, which clients see as /, and nothing outside it
      --read-only            nothing in DIR can be changed

Login:
      --user NAME            who may log in; default your own name
      --password-stdin       with the password in the first line of standard input
      --password PASSWORD    with this password; whoever lists the processes of this machine sees it
      --authorized-keys FILE with a key in FILE, which is in the form of ~/.ssh/authorized_keys
                             Without any of these a password is made and printed once.

Output:
      --json                 one JSON object a line on standard output: listening, connection, login, refused,
                             session, end
  -q, --quiet                no lines about clients
      --crypto pure|auto     pure: cryptography in JavaScript only; auto (default): the runtime's where it is faster

Exit status: 1 a file cannot be used; 2 wrong use; 255 it cannot listen; 128 + n ended by signal n: 130 after Ctrl-C.`;

const KEYGEN = `Usage: puressh keygen [options] action FILE ...

Makes, converts, shows and certifies keys. Actions:

  make FILE                  a new key in FILE, its public half in FILE.pub
    -t, --type ed25519|ecdsa|rsa
                             default ed25519
    -b, --bits N             of ecdsa 256, 384 or 521; of rsa 2048 to 16384, default 3072
    -C, --comment TEXT       default you and this machine
    -m, --format openssh|pkcs8|ppk
                             default openssh
  convert FILE               the private key of FILE in another format, with the same passphrase
    -m, --format openssh|pkcs8|ppk
        --output FILE        where it goes; - is standard output
    -C, --comment TEXT       another comment
  passphrase FILE            another passphrase, or none, for the same file
  public FILE                the public half of a private key, or a public key in another format
    -m, --format openssh|rfc4716|pkcs8
        --output FILE        default standard output
  fingerprint FILE ...       size, fingerprint, comment and type of each key
    -E, --hash sha256|md5    default sha256
  sign FILE.pub ...          a certificate for each public key, in FILE-cert.pub
        --ca FILE            private key of the authority
    -I, --id TEXT            name of the certificate, as logs show it
        --host               for hosts; default for users
    -n, --principals NAME[,NAME]
                             the users or hosts that it is for
        --valid INTERVAL     as +52w, -1d:+1h, 20260101:20270101; default always:forever
        --serial N           number; several keys have numbers in a row
    -O, --option NAME[=VALUE]
                             force-command=, source-address=, no-pty, clear and the others of ssh-keygen; may be repeated
  show FILE ...              what certificates say

For all:
      --force                replace files that are there
      --passphrase-stdin     passphrases from standard input: the first line opens a key or is for a new one; with
                             passphrase, the second line is the new one
      --no-passphrase        the new file is in the clear (make, convert)
      --crypto pure|auto     pure: cryptography in JavaScript only; auto (default): the runtime's where it is faster

Passphrases are asked for at the terminal, and never stand on the command line.

Exit status: 0 done; 1 a file or a key cannot be used, or is there already; 2 wrong use.`;

const KEYSCAN = `Usage: puressh keyscan [options] host ...

Prints the host keys that servers show, in lines of known_hosts. Whoever sits in between can show others: compare
fingerprints before you trust them.

  -p, --port N               default 22
  -t, --type NAME[,NAME]     ed25519, ecdsa, rsa; default all of them
  -c, --certificates         certificates in place of keys
  -H, --hash                 names of hosts hashed
  -T, --timeout SECONDS      limit for each connection; default 5
      --crypto pure|auto     pure: cryptography in JavaScript only; auto (default): the runtime's where it is faster

Exit status: 0 every server has shown a key; 1 one has not; 2 wrong use.`;

/** What `--help` prints, by command; `''` is the overview. */
export const usage: Readonly<Record<CommandName | '', string>> = {
  '': OVERVIEW,
  get: GET,
  put: PUT,
  ls: LS,
  run: RUN,
  sftp: SFTP,
  serve: SERVE,
  keygen: KEYGEN,
  keyscan: KEYSCAN,
};
