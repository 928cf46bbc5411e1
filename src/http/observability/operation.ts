import type { Request, Response } from 'express';

/**
 * What a request asked for, in the words of its interface: `GET /fleets/:fleetId`, or what GraphQL has put into
 * `res.locals.operation`. Never the address, in which a VIN may stand.
 */
export function operationOf(req: Request, res: Response): string {
  const { operation, route } = res.locals;
  return operation ?? `${req.method} ${route ?? '(no route)'}`;
}
