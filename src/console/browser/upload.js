import { ApiError, authorization, dataOf, unreachable } from './api.js';
import { t } from './languages/language.js';

const importVehicles = `mutation Upload($input: ImportVehiclesInput!) {
  importVehicles(input: $input) {
    fleet { id vehicleCount eligibilitySummary { eligible ineligible pending unsupported failed } }
    sheet
    summary { received created existing rejected }
    rejected { row value message }
  }
}`;

/**
 * Sends a file as the GraphQL multipart request specification says, and gives what became of it. `sent` is told the share
 * that has gone out, from 0 to 1: fetch cannot say, so it is an XMLHttpRequest. Throws ApiError.
 */
export function sendFile(input, file, name, { sent, signal }) {
  const operations = { query: importVehicles, variables: { input: { ...input, file: null } } };
  const form = new FormData();
  form.set('operations', JSON.stringify(operations));
  form.set('map', JSON.stringify({ file: ['variables.input.file'] }));
  form.set('file', file, name);
  const { promise, resolve, reject } = Promise.withResolvers();
  const request = new XMLHttpRequest();
  request.open('POST', '/graphql');
  for (const [header, value] of Object.entries(authorization())) request.setRequestHeader(header, value);
  request.upload.onprogress = ({ loaded, total }) => sent(loaded / (total || 1));
  request.upload.onload = () => sent(1);
  request.onerror = () => reject(unreachable());
  request.onabort = () => reject(new ApiError('CANCELLED', t('You have stopped it.')));
  request.onload = () => resolve(request.responseText);
  signal.addEventListener('abort', () => request.abort());
  request.send(form);
  return promise.then((text) => dataOf(text).importVehicles);
}
