/** Why the process cannot start, in words for whoever starts it: its message is all they need to see. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
