import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Server, startServer } from './postgres-server.ts';

/** A PostgreSQL server with a self-signed certificate for `localhost`, and a socket in its folder, until `stop`. */
export async function startSecureServer(): Promise<Server & { certificate: string; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-tls-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const subject = ['-subj', '/CN=database', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', 'rsa:2048', ...files, ...subject], { stdio: 'pipe' });
  const tls = { ssl_key_file: key, ssl_cert_file: certificate };
  // A client that stays silent during its handshake is seen.
  const settings = { ssl: 'on', ...tls, unix_socket_directories: folder, authentication_timeout: '600s' };
  const server = await startServer(settings, (_, account) => {
    if (account) for (const path of [folder, key, certificate]) chownSync(path, account.uid, account.gid);
    return () => rmSync(folder, { recursive: true });
  });
  return { ...server, certificate, folder };
}
