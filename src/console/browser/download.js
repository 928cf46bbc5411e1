import { ApiError, authorization, unreachable } from './api.js';

/** Saves the refused rows of an import, as the file that the gateway makes of them. Throws ApiError. */
export async function saveRefused(importId, name) {
  const answer = await fetch(`/imports/${importId}/rejected.csv`, { headers: authorization() }).catch(() => {
    throw unreachable();
  });
  if (!answer.ok) {
    const { code, detail } = await answer.json().catch(() => ({}));
    throw code ? new ApiError(code, detail) : unreachable();
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
