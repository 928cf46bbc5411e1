import { readConfig } from '../config.ts';
import { openAuthenticator } from '../http/identity/caller.ts';
import { readOptions, runCommand } from './command.ts';

const usage = 'Usage: npm run -s token -- --company acme [--scope "fleets:read fleets:write"] [--expires-in 2h]';
const text = { type: 'string' } as const;
const options = { company: text, scope: text, 'expires-in': text };

/** A token of the gateway's own, made without a running gateway; throws with a message for the terminal. */
export async function tokenCommand(args: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const setting = ['AUTH_ISSUER', 'DATABASE_URL'].find((name) => env[name]);
  if (setting) {
    throw new Error(`${setting} is set: tokens come from your own issuer. The gateway makes some in development only.`);
  }
  const { company, scope, 'expires-in': expiresIn } = readOptions(args, options, usage);
  const { issue, authenticate } = await openAuthenticator(readConfig(env));
  if (!company || !issue) throw new Error(`Name the company that the token is for.\n${usage}`);
  const token = await issue({ company, scope, expiresIn }).catch((cause: unknown) => {
    throw new Error('--expires-in: write a time span such as "2h" or "30 days".', { cause });
  });
  // Checks the token as the gateway will, so that a wrong one is never printed.
  await authenticate(`Bearer ${token}`);
  return token;
}

if (import.meta.main) {
  await runCommand({ usage }, async (args, env) => {
    console.log(await tokenCommand(args, env));
    return 0;
  });
}
