import { delivery, deliveryRequest, deliveryState } from '../../core/webhooks/delivery.ts';
import type { Cost } from '../execution/cost.ts';
import { connectionType } from './connection.ts';
import { enumOf, objectOf } from './described.ts';

export const DeliveryState = enumOf('DeliveryState', deliveryState, 'What has become of a delivery.', {
  PENDING: 'It has yet to be sent, or sent again.',
  SUCCEEDED: 'The receiver answered 2xx.',
  FAILED: 'It is not tried again by itself.',
});

objectOf('DeliveryRequest', deliveryRequest);

export const DeliveryRef = objectOf('Delivery', delivery, {
  webhookId: false,
  // Its body has up to 20 kB.
  request: { extensions: { weight: 20 } satisfies Cost },
});

export const DeliveryConnection = connectionType('Delivery', DeliveryRef);
