/** Why work is cut off that nobody waits for any more: the reason its signal gives, and what it throws. */
export function wrapLeft(): Error {
  return new Error('the wrap that asked has left')
}
