import { BY_CREATION, directions, type Orders } from '../../core/sql/order.ts';
import { builder } from './builder.ts';

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which end of an order comes first.',
  values: {
    ASC: { value: directions[0], description: 'The smallest, or the oldest.' },
    DESC: { value: directions[1], description: 'The largest, or the latest.' },
  },
});

/** The type of `orderBy` for a list of these orders: `VehicleOrder` of `VehicleOrderField`. */
export function orderOf(name: string, orders: Orders, what: string) {
  const field = builder.enumType(`${name}Field`, {
    description: `What a list of ${what} can be sorted by.`,
    values: Object.fromEntries(Object.entries(orders).map(([key, { meaning }]) => [key, { description: meaning }])),
  });
  return builder.inputType(name, {
    description: `How a list of ${what} is sorted: what is equal stands in the order of creation. A cursor is good in its own order alone.`,
    fields: (t) => ({
      field: t.field({
        type: field,
        required: true,
        defaultValue: BY_CREATION.name,
        description: 'By what.',
      }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'In which direction.',
      }),
    }),
  });
}

/** The description of every `orderBy`. */
export const orderDescription = 'How the list is sorted; by default, the oldest first.';
