/**
 * puressh without a runtime: everything that works on any byte stream, with the cryptography in plain JavaScript. Programs for
 * Node, Deno and Bun import `puressh/node`, `puressh/deno` or `puressh/bun`, which add `connect` and local files.
 */

import { type ClientOptions, connectPipe } from './connect.ts';
import { pureProvider } from './crypto/pure/index.ts';
import type { BytePipe } from './io/pipe.ts';
import type { ByteStreams } from './io/streams.ts';
import { type KeyRequest, newKey } from './keys/generate.ts';
import type { PrivateKey } from './keys/key_pair.ts';
import { newEd25519Key } from './keys/key_pair.ts';
import { createServerIn, type ServerOptions, type SshServer } from './serve.ts';
import type { LoginHandlers } from './server/handlers.ts';
import { passwordsIn } from './server/passwords.ts';
import type { SshClient } from './ssh_client.ts';

/**
 * Connects over any byte stream and logs in. It belongs to the client from now on, and is closed when that fails. Rejects with
 * an `SshError`: see its codes.
 */
export function connectOver(stream: BytePipe | ByteStreams, options: ClientOptions): Promise<SshClient> {
  return connectPipe({ crypto: { auto: pureProvider, pure: pureProvider } }, stream, options);
}

/** A server that listens nowhere: `server.serve(stream)` serves one client over any byte stream. Rejects with `bad-argument`. */
export function createServer(options: ServerOptions): Promise<SshServer> {
  return createServerIn({ crypto: { auto: pureProvider, pure: pureProvider } }, options);
}

/**
 * Fixed passwords by user name, as `auth.password` of a server; for small servers and tests. Throws `bad-argument` for a
 * password that is no text.
 */
export function passwords(users: Readonly<Record<string, string>>): NonNullable<LoginHandlers['password']> {
  return passwordsIn(pureProvider, users);
}

/** A new Ed25519 key, such as the host key of a server that lives for a test. */
export function generateKey(comment = ''): PrivateKey {
  return newEd25519Key(pureProvider, comment);
}

/**
 * A new key of any type. RSA is made in plain JavaScript here: a second for 2048 bits, ten for 4096. Rejects with
 * `bad-argument` for a type or size that there is not.
 */
export async function makeKey(request: KeyRequest, comment = ''): Promise<PrivateKey> {
  return await newKey(pureProvider, request, comment);
}

export type { Agent, AgentIdentity, SessionBinding } from './agent/agent.ts';
export { AgentClient, type AgentClientOptions } from './agent/client.ts';
export { agentOf } from './agent/keys.ts';
export type { AgentPipe } from './agent/line.ts';
export { type ServeAgentOptions, serveAgent } from './agent/server.ts';
export type { Bytes } from './bytes/bytes.ts';
export type { AgentLogin } from './client/agent_login.ts';
export {
  type AuthMethod,
  type IdentitiesMethod,
  type KeyboardMethod,
  type KeyboardRequest,
  type KeyMaterialOptions,
  key,
  keyboardInteractive,
  type LoginSurroundings,
  type PasswordMethod,
  type PasswordOptions,
  type PublicKeyMethod,
  password,
} from './client/auth.ts';
export {
  type HostKeyOffer,
  type HostKeyPolicy,
  type HostKeyUpdate,
  insecureAcceptAny,
  pin,
} from './client/host_key.ts';
export type { HostKeyUpdateState } from './client/host_key_update.ts';
export type { Passphrase } from './client/key_material.ts';
export {
  type AcceptNewOptions,
  acceptNewIn,
  type KnownHostsOptions,
  knownHostsIn,
  type RevokedFile,
  type TextFile,
} from './client/known_hosts_policy.ts';
export type { ConnectionInfo } from './client/link.ts';
export type { ConnectOptions, Timeouts } from './client/options.ts';
export type { ByteInput, RunOptions, RunResult } from './client/run.ts';
export type { Session, SessionOptions } from './client/session.ts';
export type { ExitStatus } from './client/session_channel.ts';
export type { TunnelOptions } from './client/tunnel.ts';
export { type PakoLike, type PakoStream, type ZlibOptions, zlibFrom } from './compression/zlib_from.ts';
export type {
  ConfigOrigin,
  ConfiguredAlgorithms,
  HostConfig,
  JumpHost,
  StrictHostKeyChecking,
} from './config/host_config.ts';
export { type ConfigFile, type ConfigLine, parseConfig, parseConfigOptions } from './config/parse.ts';
export { type ConfigQuery, resolveConfig } from './config/resolve.ts';
export type { ConfiguredOptions, HostConfigOptions, SshConfigOptions } from './configured.ts';
export type { ClientOptions, CryptoChoice } from './connect.ts';
export {
  type AlgorithmCategory,
  type AlgorithmLists,
  type AlgorithmsOption,
  defaultAlgorithms,
  legacyAlgorithms,
} from './core/algorithms/lists.ts';
export type { CompressionLibrary, Deflater, Inflater } from './core/compression.ts';
export type { DirectionAlgorithms, Negotiated, Prompt } from './core/events.ts';
export type { KeepaliveConfig } from './core/keepalive.ts';
export type { SideOptions, SizeLimits } from './core/options.ts';
export { type Quirks, quirkTable } from './core/quirks.ts';
export type { RekeyLimits } from './core/rekey.ts';
export type { ConnectionStats } from './core/stats.ts';
/** The parts of a `CryptoProvider`, for whoever makes one. */
export type * as primitives from './crypto/provider.ts';
export type { CryptoProvider, MaybePromise, RandomSource } from './crypto/provider.ts';
export { pureProvider } from './crypto/pure/index.ts';
export { type Fault, SshError, type SshErrorCode, type SshErrorInfo } from './errors.ts';
export type { TcpForwardingRules } from './forwarding.ts';
export type { Clock } from './io/clock.ts';
export type { Accepted, ListenAddress, Listener } from './io/listen.ts';
export type {
  LocalAttributes,
  LocalEntry,
  LocalFile,
  LocalFiles,
  LocalKind,
  LocalOpenOptions,
  LocalStat,
} from './io/local_files.ts';
export { type MemoryPipeOptions, memoryPipes } from './io/memory_pipe.ts';
export type { BytePipe, PipeSink, PipeStats } from './io/pipe.ts';
export { type ByteStreams, pipeFromStreams, streamsFromPipe } from './io/streams.ts';
export type { AuthorizedKey, RefusedLine } from './keys/authorized_keys.ts';
export {
  type Certificate,
  type CertificateRequest,
  type CertificateUse,
  type CertificateVerdict,
  certified,
  FOREVER,
  judgeCertificate,
  parseCertificate,
  signCertificate,
  USER_EXTENSIONS,
  verifyCertificate,
} from './keys/certificate.ts';
export { keyFingerprint } from './keys/fingerprint.ts';
export type { ForwardPermit } from './keys/forward_permit.ts';
export type { KeyRequest } from './keys/generate.ts';
export type { KdfLimits } from './keys/kdf_limits.ts';
export type { KeyFileFormat } from './keys/key_file.ts';
export type { KeyOptions } from './keys/key_options.ts';
export type { PrivateKey, PrivateKeySecret } from './keys/key_pair.ts';
export {
  checkHostKey,
  type HostKeyVerdict,
  type HostNames,
  type IgnoredLine,
  type KnownHosts,
  type KnownHostsEntry,
  type KnownKey,
  parseKnownHosts,
} from './keys/known_hosts.ts';
export { addHost, type FoundLine, findHost, formatFoundLines, hashHosts, removeHost } from './keys/known_hosts_edit.ts';
export { type Krl, parseKrl, type Revocation, revocationOf } from './keys/krl.ts';
export {
  type PeekedKey,
  type PrivateKeyOptions,
  parsePrivateKey,
  peekPrivateKey,
  signerOf,
} from './keys/private_key.ts';
export { formatPrivateKey, type PrivateKeyFormat, type WrittenFormat } from './keys/private_key_format.ts';
export {
  type EcdsaKeyType,
  fingerprint,
  type KeyType,
  type PublicKey,
  type PublicKeyParts,
  type SecurityKeyType,
} from './keys/public_key.ts';
export {
  formatPublicKey,
  type PublicKeyFile,
  type PublicKeyFormat,
  parsePublicKeyFile,
} from './keys/public_key_file.ts';
export { parseShownKey, type ShownKey } from './keys/shown_key.ts';
export type { Signer } from './keys/signature.ts';
export type { Presence } from './keys/sk_signature.ts';
export type { ListenServerOptions, ServerOptions, SshServer } from './serve.ts';
export {
  type AuthorizedKeysGrant,
  type AuthorizedKeysLogin,
  type AuthorizedKeysLoginOptions,
  type AuthorizedKeysSource,
  authorizedKeys,
} from './server/authorized_keys.ts';
export type { ServerConnection } from './server/connection.ts';
export type {
  Attempt,
  ForwardHandlers,
  ForwardTarget,
  Grant,
  Login,
  LoginHandlers,
  LoginResult,
  Peer,
  Permissions,
  QuestionRound,
  Step,
  UserKey,
} from './server/handlers.ts';
export type { ServerCapacity, ServerTimeouts } from './server/options.ts';
export type { Program, ProgramEnd, ServerSession, SessionHandlers, Start, Terminal } from './server/session.ts';
export {
  type CertificateGrant,
  type UserCertificatesLogin,
  type UserCertificatesOptions,
  userCertificates,
} from './server/user_certificates.ts';
export type { CheckFileOptions } from './sftp/check_file.ts';
export { type ReadFileOptions, SftpClient, type SftpStats } from './sftp/client.ts';
export type { SftpClientOptions } from './sftp/client_options.ts';
export type { CopyOptions, CopyResult, CopyToOptions } from './sftp/copy.ts';
export type { RemoteFile } from './sftp/file.ts';
export type { GetOptions, GetResult, LocalTarget } from './sftp/get_options.ts';
export type { GlobOptions } from './sftp/glob.ts';
export { escapeGlob, isGlob } from './sftp/glob_pattern.ts';
export type { ServerLimits } from './sftp/link.ts';
export type { DirectoryEntry, ListOptions } from './sftp/list.ts';
export type { OpenFlags, OpenMode } from './sftp/operations.ts';
export type {
  CallOptions,
  MkdirOptions,
  Progress,
  RangeOptions,
  ReadOptions,
  RemotePath,
  RemoveOptions,
  RenameOptions,
  SetstatOptions,
  TransferOptions,
  TransferStats,
} from './sftp/options.ts';
export type { Preserve } from './sftp/preserve.ts';
export { type Attributes, type ExtendedAttribute, type FileKind, fileKind } from './sftp/proto/attrs.ts';
export type { DigestAlgorithm, FileDigests } from './sftp/proto/digests.ts';
export type { FileSystemStats, OwnerNames } from './sftp/proto/extensions.ts';
export { Status as SftpStatus } from './sftp/proto/status.ts';
export type { LocalSource, PutOptions, PutResult } from './sftp/put_options.ts';
export type { WalkEntry } from './sftp/read_tree.ts';
export type { SymlinkOrder } from './sftp/requests.ts';
export type {
  BackendEntry,
  BackendFile,
  OpenRequest,
  SftpBackend,
} from './sftp/server/backend.ts';
export type { DirectoryOptions } from './sftp/server/directory.ts';
export type { SftpServerLimits } from './sftp/server/limits.ts';
export type { MemoryFile } from './sftp/server/memory_file.ts';
export { type MemoryFiles, type MemoryFilesOptions, type MemoryOwner, memoryFiles } from './sftp/server/memory_fs.ts';
export { type PosixCode, PosixError } from './sftp/server/posix_error.ts';
export { type SftpServerOptions, serveSftp } from './sftp/server/server.ts';
export type {
  FailedEntry,
  SkippedEntry,
  TreeEntry,
  TreeKind,
  TreeOptions,
  TreeProgress,
  TreeResult,
} from './sftp/tree/options.ts';
export type { Verify } from './sftp/verify.ts';
export type { WalkOptions } from './sftp/walk.ts';
export { type SftpSource, type SftpSubsystemOptions, sftpSubsystem } from './sftp_subsystem.ts';
export type { SftpOptions, SshClient } from './ssh_client.ts';
