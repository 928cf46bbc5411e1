import type { Event } from '../events/event.ts';

/** Larger bodies are cut. */
const LARGEST_BYTES = 20_000;
/** What more vehicles than these take is more than that. */
export const PAYLOAD_VEHICLES = 300;

/**
 * What a webhook gets of an event, which may lack its vehicles where they are many: the event as REST shows it. One that is too large comes without its vehicles and
 * data, marked `truncated`, with the address where the whole of it can be read.
 */
export function payloadOf(event: Event): string {
  const whole = JSON.stringify(event);
  const hasAll = event.vehicles.length === event.vehicleCount;
  if (hasAll && Buffer.byteLength(whole) <= LARGEST_BYTES) return whole;
  return JSON.stringify({ ...event, vehicles: [], data: {}, truncated: true, url: `/events/${event.id}` });
}
