import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
const newKey = ['-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];

export interface Certificate {
  key: string;
  certificate: string;
}

/** An authority with its files in a folder. */
export class Authority {
  readonly certificate: string;
  readonly #folder: string;
  readonly #key: string;

  constructor(folder: string, name = 'authority') {
    this.#folder = folder;
    this.#key = join(folder, `${name}.key`);
    this.certificate = join(folder, `${name}.pem`);
    openssl('req', '-x509', ...newKey, '-keyout', this.#key, '-out', this.certificate, '-subj', `/CN=${name}`);
  }

  /** A certificate of this name, which may be that of a host or of a role. */
  issue(name: string, extension = `subjectAltName=DNS:${name}`): Certificate {
    const file = join(this.#folder, encodeURIComponent(name));
    const files = { key: `${file}.key`, certificate: `${file}.pem` };
    const by = ['-CA', this.certificate, '-CAkey', this.#key];
    const made = ['-keyout', files.key, '-out', files.certificate, '-subj', `/CN=${name}`, '-addext', extension];
    openssl('req', '-x509', ...newKey, ...made, ...by);
    return files;
  }
}
