// Retries of every writing operation by tokens of every scope.
import { startGateway } from '../support/gateway.ts';
import { describeRepetitions } from '../support/scopes.ts';

const gateway = await startGateway({ settings: { AUTH_SCOPES: 'on', CONTRACTS_AUTH: 'required' } });

describeRepetitions(gateway, Number.POSITIVE_INFINITY);
