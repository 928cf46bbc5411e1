import { createHmac, randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;
const PREFIX = 'whsec_';

/** A new signing secret, as Standard Webhooks writes it. */
export const newSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

/** The headers of Standard Webhooks: one signature for each secret, so that receivers can change theirs in peace. */
export function signedHeaders(id: string, body: string, secrets: readonly string[], now: Date): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
