/**
 * An SFTP server made of the `ssh2` package and `node:fs`, as its documentation shows one: every request is answered when the
 * disk is done, and nothing else stands between.
 *
 *   node ssh2_server.mjs HOSTKEY USERKEY.pub
 *
 * Prints its port. Ends with its standard input.
 */

import fs from 'node:fs';
import ssh2 from 'ssh2';

const [hostKey, userKey] = process.argv.slice(2);
const { OPEN_MODE, STATUS_CODE } = ssh2.utils.sftp;
const allowed = ssh2.utils.parseKey(fs.readFileSync(userKey));

function flagsOf(mode) {
  const { READ, WRITE, APPEND, CREAT, TRUNC, EXCL } = OPEN_MODE;
  const { O_RDONLY, O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_TRUNC, O_EXCL } = fs.constants;
  let flags = mode & WRITE ? (mode & READ ? O_RDWR : O_WRONLY) : O_RDONLY;
  if (mode & APPEND) flags |= O_APPEND;
  if (mode & CREAT) flags |= O_CREAT;
  if (mode & TRUNC) flags |= O_TRUNC;
  if (mode & EXCL) flags |= O_EXCL;
  return flags;
}

function attrsOf(stats) {
  const [atime, mtime] = [stats.atimeMs, stats.mtimeMs].map((time) => Math.floor(time / 1000));
  return { mode: stats.mode, uid: stats.uid, gid: stats.gid, size: stats.size, atime, mtime };
}

function serveFiles(sftp) {
  sftp.on('end', () => sftp.end());
  const fdOf = (handle) => handle.readUInt32BE(0);
  const done = (id) => (error) => sftp.status(id, error ? STATUS_CODE.FAILURE : STATUS_CODE.OK);
  const attributes = (id) => (error, stats) =>
    error ? sftp.status(id, STATUS_CODE.NO_SUCH_FILE) : sftp.attrs(id, attrsOf(stats));
  sftp.on('OPEN', (id, path, mode, attrs) => {
    fs.open(path, flagsOf(mode), attrs.mode ?? 0o666, (error, fd) => {
      if (error) return sftp.status(id, STATUS_CODE.FAILURE);
      const handle = Buffer.alloc(4);
      handle.writeUInt32BE(fd);
      sftp.handle(id, handle);
    });
  });
  sftp.on('READ', (id, handle, offset, length) => {
    fs.read(fdOf(handle), Buffer.allocUnsafe(length), 0, length, offset, (error, count, buffer) => {
      if (error) sftp.status(id, STATUS_CODE.FAILURE);
      else if (count === 0) sftp.status(id, STATUS_CODE.EOF);
      else sftp.data(id, buffer.subarray(0, count));
    });
  });
  sftp.on('WRITE', (id, handle, offset, data) => fs.write(fdOf(handle), data, 0, data.length, offset, done(id)));
  sftp.on('CLOSE', (id, handle) => fs.close(fdOf(handle), done(id)));
  sftp.on('FSTAT', (id, handle) => fs.fstat(fdOf(handle), attributes(id)));
  sftp.on('STAT', (id, path) => fs.stat(path, attributes(id)));
  sftp.on('LSTAT', (id, path) => fs.lstat(path, attributes(id)));
  sftp.on('FSETSTAT', (id) => sftp.status(id, STATUS_CODE.OK));
  sftp.on('SETSTAT', (id) => sftp.status(id, STATUS_CODE.OK));
  sftp.on('REMOVE', (id, path) => fs.unlink(path, done(id)));
  sftp.on('REALPATH', (id, path) => {
    const filename = path === '.' ? '/' : path;
    sftp.name(id, [{ filename, longname: filename, attrs: {} }]);
  });
}

const server = new ssh2.Server({ hostKeys: [fs.readFileSync(hostKey)] }, (client) => {
  client.on('error', () => {});
  client.on('authentication', (context) => {
    if (context.method !== 'publickey' || !context.key.data.equals(allowed.getPublicSSH())) return context.reject();
    if (context.signature && !allowed.verify(context.blob, context.signature, context.hashAlgo))
      return context.reject();
    context.accept();
  });
  client.on('session', (accept) => {
    accept().on('sftp', (acceptSftp) => serveFiles(acceptSftp()));
  });
});

server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
