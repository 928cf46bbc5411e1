import { ApiError } from './api.js';
import { t } from './languages/language.js';

/** A JSON file of VINs, a list of texts or of objects with a `vin`, as the CSV file that the gateway reads. Throws ApiError. */
export async function csvOf(file) {
  const list = listOf(readJson(await file.text()));
  const vins = list?.map((one) => (typeof one === 'object' ? one?.vin : one));
  if (!vins?.length || vins.some((vin) => typeof vin !== 'string')) {
    throw new ApiError('NO_VINS', t('This JSON has no list of VINs, such as ["WBA…", "WDB…"] or [{"vin": "WBA…"}].'));
  }
  return new Blob([['vin', ...vins.map((vin) => `"${vin.replaceAll('"', '""')}"`)].join('\n')], { type: 'text/csv' });
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError('NO_VINS', t('This file is not JSON: {message}.', error));
  }
}

function listOf(value) {
  if (Array.isArray(value)) return value;
  const lists = Object.values(value ?? {}).filter(Array.isArray);
  return lists.length === 1 ? lists[0] : undefined;
}
